// Dispatch, rights, and the guard around every handler.
#include "service.h"

#include <Poco/Exception.h>

#include "admin_handlers.h"
#include "dead_handlers.h"
#include "health_handlers.h"
#include "order_handlers.h"
#include "problem.h"
#include "server_limits.h"
#include "voucher_handlers.h"

namespace sluice::server {

void RouteList::add(Method method, std::string_view pattern, Access access, std::size_t bodyMax,
                    Handler handler) {
  routes.push_back({method, pattern, access, handlers.size(), bodyMax});
  handlers.push_back(std::move(handler));
}

Service::Service(Engine& engine, Parts parts, const ServiceOptions& options,
                 std::unique_ptr<UserAuth> userAuth)
    : log_(parts.log), adminAuth_(options.adminToken), userAuth_(std::move(userAuth)) {
  RouteList list;
  // The order comes first: it is what this server is asked ten thousand times a second.
  if (options.role != Role::Worker) {
    addOrderRoutes(list, engine, parts, options.demoPayment);
    addVoucherRoutes(list, engine, parts);
  }
  addHealthRoutes(list, engine, *this);
  addAdminRoutes(list, parts);
  addDeadRoutes(list, parts);
  handlers_ = std::move(list.handlers);
  router_ = std::make_unique<Router>(std::move(list.routes));
}

Service::~Service() = default;

std::size_t Service::bodyMax(Method method, std::string_view path) const noexcept {
  const RouteMatch match = router_->match(method, path);
  // Where no handler will read it, a small body is let in, so that the answer can be 404 or 405 instead of
  // 413.
  return match.route == nullptr ? limits::kBodyBytesMax
                                : std::max(match.route->bodyMax, limits::kBodyBytesMax);
}

void Service::answer(const HttpRequest& request, HttpResponse& response) noexcept {
  try {
    dispatch(request, response);
  } catch (const Poco::Exception& error) {
    broken(response, error.displayText());
  } catch (const std::exception& error) {
    broken(response, error.what());
  } catch (...) {
    broken(response, "an exception of unknown type");
  }
  const int statusClass = response.status / 100;
  answers_[statusClass >= 1 && statusClass <= 5 ? statusClass - 1 : 4].fetch_add(1,
                                                                                 std::memory_order_relaxed);
}

void Service::broken(HttpResponse& response, std::string_view what) noexcept {
  log_.repeated(LogLevel::Error, "http", "handler", std::string("a handler failed: ").append(what));
  response.clear();
  setProblem(response, 500, "INTERNAL", "This server could not do it. The log says why.");
}

void Service::refuse(const HttpFault& fault, HttpResponse& response) noexcept {
  setProblem(response, fault);
  answers_[3].fetch_add(1, std::memory_order_relaxed);
}

void Service::dispatch(const HttpRequest& request, HttpResponse& response) {
  const RouteMatch match = router_->match(request.method, request.path);
  if (match.route == nullptr) return refuseUnknown(request, response, match.pathKnown);
  Call call{request, response, match.parameters, UserId()};
  if (!admit(match.route->access, call)) return;
  if (request.body.size() > match.route->bodyMax) {
    return setProblem(response, 413, "BODY_TOO_LARGE", "The body is larger than this address takes.");
  }
  handlers_[match.route->handler](call);
}

void Service::refuseUnknown(const HttpRequest& request, HttpResponse& response, bool pathKnown) const {
  if (!pathKnown) return setProblem(response, 404, "NO_SUCH_ADDRESS", "There is nothing at this address.");
  response.add("Allow", router_->allowed(request.path));
  setProblem(response, 405, "METHOD_NOT_ALLOWED", "The header Allow names the methods of this address.");
}

bool Service::admit(Access access, Call& call) const {
  if (access == Access::Anyone) return true;
  if (access == Access::Operator) {
    const auto fault = adminAuth_.refuse(call.request);
    if (!fault) return true;
    if (fault->status == 401) call.response.add("WWW-Authenticate", "Bearer realm=\"sluice\"");
    setProblem(call.response, *fault);
    return false;
  }
  const auto identity = userAuth_->identify(call.request);
  if (const auto* fault = std::get_if<HttpFault>(&identity)) {
    if (fault->status == 401) call.response.add("WWW-Authenticate", userAuth_->challenge());
    setProblem(call.response, *fault);
    return false;
  }
  call.user = std::get<UserId>(identity);
  return true;
}

AnswerCounts Service::answerCounts() const noexcept {
  AnswerCounts counts;
  for (std::size_t k = 0; k < 5; ++k)
    counts.byClass[k] = answers_[k].load(std::memory_order_relaxed);
  return counts;
}

namespace {

// application/json, with charset=utf-8 at most.
bool isJson(std::string_view type) noexcept {
  const std::size_t semicolon = type.find(';');
  std::string_view media = type.substr(0, semicolon);
  while (!media.empty() && media.back() == ' ')
    media.remove_suffix(1);
  if (!equalsIgnoringCase(media, kJsonType)) return false;
  if (semicolon == std::string_view::npos) return true;
  std::string_view parameter = type.substr(semicolon + 1);
  while (!parameter.empty() && parameter.front() == ' ')
    parameter.remove_prefix(1);
  return equalsIgnoringCase(parameter, "charset=utf-8") || equalsIgnoringCase(parameter, "charset=\"utf-8\"");
}

}  // namespace

bool readBody(Call& call, std::span<JsonField> fields) {
  if (!call.request.body.empty()) {
    const HeaderLookup type = call.request.header("Content-Type");
    if (type.count != 1 || !isJson(type.value)) {
      setProblem(call.response, 415, "NOT_JSON",
                 "Send the body as Content-Type: application/json, in UTF-8.");
      return false;
    }
    if (call.request.header("Content-Encoding").count > 0) {
      setProblem(call.response, 415, "ENCODED", "Send the body as it is, without Content-Encoding.");
      return false;
    }
  }
  const auto fault = readJsonObject(call.request.body.empty() ? "{}" : call.request.body, fields);
  if (fault) setProblem(call.response, 400, "BAD_BODY", *fault);
  return !fault;
}

bool readNoBody(Call& call) { return readBody(call, {}); }

template <typename IdType>
bool readPathId(Call& call, std::size_t index, IdType& id) {
  const auto parsed = parseId<IdType>(call.path.values[index]);
  if (parsed) {
    id = *parsed;
  } else {
    setProblem(call.response, 400, "BAD_ID", kIdRule);
  }
  return parsed.has_value();
}

template bool readPathId<OrderId>(Call&, std::size_t, OrderId&);
template bool readPathId<VoucherId>(Call&, std::size_t, VoucherId&);

}  // namespace sluice::server
