// See http_client.h.
#include "support/http_client.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::test {

namespace {

std::string lowerCase(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

std::optional<HttpReply> parseHead(const std::string& bytes, std::size_t headEnd) {
  HttpReply reply;
  std::size_t at = bytes.find("\r\n");
  if (bytes.compare(0, 9, "HTTP/1.1 ") != 0 && bytes.compare(0, 9, "HTTP/1.0 ") != 0) return std::nullopt;
  reply.status = std::atoi(bytes.c_str() + 9);
  while (at < headEnd) {
    const std::size_t begin = at + 2;
    const std::size_t end = bytes.find("\r\n", begin);
    const std::size_t colon = bytes.find(':', begin);
    if (colon < end) {
      const std::size_t value = bytes.find_first_not_of(' ', colon + 1);
      reply.headers[lowerCase(bytes.substr(begin, colon - begin))] = bytes.substr(value, end - value);
    }
    at = end;
  }
  return reply;
}

}  // namespace

RawConnection::RawConnection(std::uint16_t port)
    : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(descriptor_);
    descriptor_ = -1;
  }
}

RawConnection::~RawConnection() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool RawConnection::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto n = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

void RawConnection::finish() { shutdown(descriptor_, SHUT_WR); }

bool RawConnection::fill(milliseconds wait) {
  pollfd watched{descriptor_, POLLIN, 0};
  if (descriptor_ < 0 || poll(&watched, 1, static_cast<int>(wait.count())) <= 0) return false;
  std::array<char, 16384> buffer{};
  const auto n = recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (n <= 0) return false;
  received_.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

HttpReply RawConnection::receive(milliseconds wait) {
  const Deadline deadline = Deadline::in(wait);
  std::size_t headEnd = std::string::npos;
  while ((headEnd = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill(deadline.remaining())) return {};
  }
  auto reply = parseHead(received_, headEnd);
  if (!reply) return {};
  const auto length = reply->headers.find("content-length");
  const std::size_t bodyBytes =
      length == reply->headers.end() ? 0 : std::strtoull(length->second.c_str(), nullptr, 10);
  while (received_.size() < headEnd + 4 + bodyBytes) {
    if (!fill(deadline.remaining())) return {};
  }
  reply->body = received_.substr(headEnd + 4, bodyBytes);
  received_.erase(0, headEnd + 4 + bodyBytes);
  return *reply;
}

bool RawConnection::closedWithin(milliseconds wait) {
  const Deadline deadline = Deadline::in(wait);
  while (!deadline.passed()) {
    pollfd watched{descriptor_, POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(deadline.remaining().count())) <= 0) continue;
    std::array<char, 4096> buffer{};
    if (recv(descriptor_, buffer.data(), buffer.size(), 0) <= 0) return true;
  }
  return false;
}

HttpReply http(std::uint16_t port, const std::string& method, const std::string& path,
               const HttpHeaders& headers, const std::string& body, milliseconds wait) {
  RawConnection connection(port);
  std::string request = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n";
  for (const auto& [name, value] : headers) {
    request.append(name).append(": ").append(value).append("\r\n");
  }
  if (!body.empty()) request += "Content-Type: application/json\r\n";
  if (!body.empty() || method != "GET") request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  request.append("\r\n").append(body);
  connection.send(request);
  return connection.receive(wait);
}

std::string jsonMember(const std::string& json, const std::string& name) {
  std::size_t at = json.find("\"" + name + "\":");
  if (at == std::string::npos) return {};
  at = json.find_first_not_of(' ', at + name.size() + 3);
  if (json[at] == '"') return json.substr(at + 1, json.find('"', at + 1) - at - 1);
  return json.substr(at, json.find_first_of(",}] \n", at) - at);
}

}  // namespace sluice::test
