// Service: everything between a request and its answer: route, rights, handler, guard.
//
// Role:     the HttpService of the program. Owns the route table and the groups of handlers; a front calls
//           it.
// Threads:  answer, refuse, bodyMax from any thread. Nothing on the way of an order takes a lock that all
//           requests share.
// Errors:   whatever a handler throws becomes a 500 without detail and a line in the log.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/engine.h"
#include "sluice/operations.h"

#include "auth.h"
#include "front.h"
#include "json_reader.h"
#include "router.h"

namespace sluice::server {

// One request on its way through its handler.
struct Call {
  const HttpRequest& request;
  HttpResponse& response;
  PathParameters path;
  UserId user;  // set where the route's access is User
};

using Handler = std::function<void(Call&)>;

// What groups of handlers add themselves to.
class RouteList {
 public:
  void add(Method method, std::string_view pattern, Access access, std::size_t bodyMax, Handler handler);
  std::vector<Route> routes;
  std::vector<Handler> handlers;
};

struct ServiceOptions {
  Role role = Role::All;
  bool demoPayment = false;
  std::string adminToken;  // empty: admin is off
};

// Requests answered, by the first digit of their status; for metrics.
struct AnswerCounts {
  std::uint64_t byClass[5] = {};  // 1xx .. 5xx
};

class Service final : public HttpService {
 public:
  Service(Engine& engine, Parts parts, const ServiceOptions& options, std::unique_ptr<UserAuth> userAuth);
  ~Service() override;

  // The front whose figures /metrics shows. Before the front starts; it may outlive the front's stop, not the
  // front.
  void watch(const Front& front) noexcept { front_ = &front; }
  [[nodiscard]] const Router& router() const noexcept { return *router_; }

  std::size_t bodyMax(Method method, std::string_view path) const noexcept override;
  void answer(const HttpRequest& request, HttpResponse& response) noexcept override;
  void refuse(const HttpFault& fault, HttpResponse& response) noexcept override;

  [[nodiscard]] FrontStats frontStats() const noexcept {
    return front_ == nullptr ? FrontStats() : front_->stats();
  }
  [[nodiscard]] AnswerCounts answerCounts() const noexcept;

 private:
  void dispatch(const HttpRequest& request, HttpResponse& response);
  void refuseUnknown(const HttpRequest& request, HttpResponse& response, bool pathKnown) const;
  [[nodiscard]] bool admit(Access access, Call& call) const;
  void broken(HttpResponse& response, std::string_view what) noexcept;

  Log& log_;
  AdminAuth adminAuth_;
  std::unique_ptr<UserAuth> userAuth_;
  std::vector<Handler> handlers_;
  std::unique_ptr<Router> router_;
  const Front* front_ = nullptr;
  std::atomic<std::uint64_t> answers_[5] = {};
};

// Reads the body into declared fields; false: the answer is the refusal. An empty body is an object without
// members.
[[nodiscard]] bool readBody(Call& call, std::span<JsonField> fields);
// No body, or an object without members.
[[nodiscard]] bool readNoBody(Call& call);

// Reads an id of the path; false: the answer is the refusal.
template <typename IdType>
[[nodiscard]] bool readPathId(Call& call, std::size_t index, IdType& id);
extern template bool readPathId<OrderId>(Call&, std::size_t, OrderId&);
extern template bool readPathId<VoucherId>(Call&, std::size_t, VoucherId&);

inline constexpr std::string_view kIdRule = "An id must be a decimal number from 1 to 9223372036854775807.";

}  // namespace sluice::server
