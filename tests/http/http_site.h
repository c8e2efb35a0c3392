// A whole HTTP server in this process: a front by name, the service, a fake engine. Every front runs through
// the same tests.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "fake_engine.h"
#include "server/problem.h"
#include "server/server_limits.h"
#include "server/service.h"
#include "support/http_client.h"

namespace sluice::test {

inline constexpr const char* kOperatorToken = "0123456789abcdef0123456789abcdef";

// The fronts that exist, by the name of `http.front`.
inline const std::vector<std::string>& frontNames() {
  static const std::vector<std::string> names = {"threaded"};
  return names;
}

[[nodiscard]] inline std::unique_ptr<server::Front> makeFront(const std::string& name,
                                                              const server::FrontOptions& options,
                                                              server::HttpService& service, Log& log) {
  EXPECT_EQ(name, "threaded");
  return server::makeThreadedFront(options, service, systemClock(), log);
}

[[nodiscard]] inline server::FrontOptions siteOptions() {
  server::FrontOptions options;
  options.port = 0;
  options.threads = 16;
  options.keepAlive = milliseconds(3000);
  options.requestTimeout = milliseconds(3000);
  return options;
}

[[nodiscard]] inline server::ServiceOptions serviceOptions() { return {Role::All, true, kOperatorToken}; }

class HttpSite {
 public:
  explicit HttpSite(const std::string& frontName, const server::FrontOptions& options = siteOptions(),
                    const server::ServiceOptions& serving = serviceOptions())
      : engine(fakes), service(engine, fakes.parts(), serving, server::makeHeaderAuth()) {
    voucher = fakes.sell(10);
    engine.know(voucher);
    front = makeFront(frontName, options, service, noLog());
    service.watch(*front);
    const Status opened = front->open();
    EXPECT_TRUE(opened.ok());
    front->start();
  }
  ~HttpSite() { front->stop(Deadline::in(milliseconds(5000))); }

  [[nodiscard]] std::uint16_t port() const { return front->port(); }
  [[nodiscard]] std::string orderPath() const { return "/api/v1/vouchers/" + voucher.id.text() + "/orders"; }
  [[nodiscard]] std::int64_t stock() { return fakes.qualifier.snapshot(voucher.id, soon()).value().stock; }

  // A whole order request in text, for raw connections.
  [[nodiscard]] std::string orderText(std::int64_t user, const std::string& body = R"({"quantity":1})",
                                      const std::string& moreHeaders = {}) const {
    return "POST " + orderPath() +
           " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-User-Id: " + std::to_string(user) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + moreHeaders + "\r\n" + body;
  }
  [[nodiscard]] HttpReply order(std::int64_t user, const std::string& body = R"({"quantity":1})",
                                const HttpHeaders& more = {}) const {
    HttpHeaders headers = more;
    headers.emplace_back("X-User-Id", std::to_string(user));
    return http(port(), "POST", orderPath(), headers, body);
  }
  [[nodiscard]] HttpReply get(const std::string& path, std::int64_t user = 0) const {
    return http(port(), "GET", path,
                user == 0 ? HttpHeaders() : HttpHeaders{{"X-User-Id", std::to_string(user)}});
  }
  [[nodiscard]] HttpReply post(const std::string& path, std::int64_t user,
                               const std::string& body = {}) const {
    return http(port(), "POST", path, {{"X-User-Id", std::to_string(user)}}, body);
  }
  [[nodiscard]] HttpReply admin(const std::string& method, const std::string& path,
                                const std::string& body = {}) const {
    return http(port(), method, path, {{"Authorization", std::string("Bearer ") + kOperatorToken}}, body);
  }

  Fakes fakes;
  FakeEngine engine;
  server::Service service;
  std::unique_ptr<server::Front> front;
  Voucher voucher;
};

}  // namespace sluice::test
