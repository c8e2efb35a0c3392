// See order_request.h.
#include "cli/order_request.h"

namespace sluice::cli {
namespace {

std::string post(std::uint16_t port, const std::string& path, const std::string& header,
                 const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n" + header +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

std::string orderRequest(std::uint16_t port, VoucherId voucher, UserId user) {
  return post(port, "/api/v1/vouchers/" + voucher.text() + "/orders", "X-User-Id: " + user.text(),
              R"({"quantity":1})");
}

std::string adminRequest(std::uint16_t port, const std::string& path, const std::string& token,
                         const std::string& body) {
  return post(port, "/admin/v1" + path, "Authorization: Bearer " + token, body);
}

}  // namespace sluice::cli
