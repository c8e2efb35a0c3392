-- Load for wrk: every request orders for another user. The request is put together by hand: wrk.format costs more than the server does.
local user = 0
local head = "POST /api/v1/vouchers/1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
  .. "Content-Length: 14\r\nX-User-Id: "
function init() user = os.time() * 100000 end
function request()
  user = user + 1
  return head .. string.format("%d", user) .. "\r\n\r\n{\"quantity\":1}"
end
