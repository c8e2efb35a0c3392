// POST of an order is the hot path: no lock, no store, and what it allocates is kept for the connection's
// next request.
#include "order_handlers.h"

#include "sluice/limits.h"

#include "json_writer.h"
#include "problem.h"
#include "query.h"
#include "server_limits.h"
#include "views.h"

namespace sluice::server {

namespace {

// The level of durability for the header of an answer. Asking the engine takes a lock, so one request in
// kDurabilityAge does.
class DurabilityMark {
 public:
  DurabilityMark(const Engine& engine, const Clock& clock) noexcept : engine_(engine), clock_(clock) {}

  std::string_view name() {
    const std::int64_t now = clock_.steady().time_since_epoch().count();
    std::int64_t due = due_.load(std::memory_order_relaxed);
    const auto next = now + SteadyTime::duration(limits::kDurabilityAge).count();
    // Relaxed: who wins the exchange asks; the others use the older level, which is allowed to be that old.
    if (now >= due && due_.compare_exchange_strong(due, next, std::memory_order_relaxed)) {
      level_.store(engine_.readiness().durability, std::memory_order_relaxed);
    }
    return durabilityName(level_.load(std::memory_order_relaxed));
  }

 private:
  const Engine& engine_;
  const Clock& clock_;
  std::atomic<std::int64_t> due_{std::numeric_limits<std::int64_t>::min()};
  std::atomic<Durability> level_{Durability::L0};
};

bool isKey(std::string_view key) noexcept {
  if (key.size() < sluice::limits::kIdempotencyKeyBytesMin ||
      key.size() > sluice::limits::kIdempotencyKeyBytesMax)
    return false;
  for (const char c : key) {
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!allowed) return false;
  }
  return true;
}

class OrderHandlers {
 public:
  OrderHandlers(Engine& engine, Parts parts)
      : engine_(engine), parts_(parts), durability_(engine, parts.clock) {}

  void order(Call& call) {
    OrderRequest request;
    request.user = call.user;
    if (!readPathId(call, 0, request.voucher) || !readQuantity(call, request.quantity) ||
        !readKey(call, request.idempotencyKey)) {
      return;
    }
    const OrderAnswer answer = engine_.order(request, Deadline::in(limits::kOrderDeadline));
    if (answer.verdict == Verdict::Admitted)
      return writeAdmitted(call.response, request.voucher, answer.order);
    const VerdictAnswer& refusal = verdictAnswer(answer.verdict);
    if (refusal.retryAfter) call.response.add("Retry-After", "1");
    setProblem(call.response, refusal.status, refusal.code, refusal.detail,
               refusal.withOrder ? answer.order : OrderId());
  }

  void status(Call& call) {
    OrderId order;
    VoucherId voucher;
    if (!readOrder(call, order, voucher, true)) return;
    const auto view = Orders(parts_).find(order, voucher, call.user, Deadline::in(limits::kReadDeadline));
    if (view.ok()) return writeView(call, view.value());
    // The store does not answer: whether the order is there is not known, and "not found" would be a lie.
    if (errorTraits(view.error().code).mayRetry) return writeUnknown(call.response, order, voucher);
    setError(call.response, view.error(), false);
  }

  void cancel(Call& call) {
    OrderId order;
    VoucherId voucher;
    if (!readOrder(call, order, voucher, true) || !readNoBody(call)) return;
    writeResult(call, Orders(parts_).cancel(order, voucher, call.user, DeadReason::ByUser,
                                            Deadline::in(limits::kReadDeadline)));
  }

  void pay(Call& call) {
    OrderId order;
    VoucherId voucher;
    if (!readOrder(call, order, voucher, false) || !readNoBody(call)) return;
    writeResult(call, Orders(parts_).pay(order, call.user, Deadline::in(limits::kReadDeadline)));
  }

 private:
  static bool readQuantity(Call& call, std::int32_t& quantity) {
    if (call.request.body.empty()) return true;  // one piece
    JsonField field("quantity", JsonKind::Integer);
    if (!readBody(call, {&field, 1})) return false;
    if (!field.present) return true;
    if (field.number < 1 || field.number > sluice::limits::kQuantityMax) {
      setProblem(call.response, 400, "BAD_QUANTITY", "quantity must be from 1 to 1000.");
      return false;
    }
    quantity = static_cast<std::int32_t>(field.number);
    return true;
  }

  static bool readKey(Call& call, std::string_view& key) {
    const HeaderLookup found = call.request.header("Idempotency-Key");
    if (found.count == 0) return true;
    key = found.value;
    if (found.count == 1 && isKey(key)) return true;
    setProblem(call.response, 400, "BAD_IDEMPOTENCY_KEY",
               "Idempotency-Key must come once and have 16 to 64 of A-Z a-z 0-9 _ -.");
    return false;
  }

  // The order of the path and the voucher of the query.
  static bool readOrder(Call& call, OrderId& order, VoucherId& voucher, bool voucherNeeded) {
    if (!readPathId(call, 0, order)) return false;
    QueryParameter parameter{"voucher", {}, false};
    if (const auto fault = readQuery(call.request.query, {&parameter, 1})) {
      setProblem(call.response, *fault);
      return false;
    }
    const auto parsed = parseId<VoucherId>(parameter.value);
    if (parsed) voucher = *parsed;
    if (parsed || (!parameter.present && !voucherNeeded)) return true;
    setProblem(call.response, 400, "BAD_ID",
               parameter.present ? kIdRule : "Add ?voucher= with the id of the order's voucher.");
    return false;
  }

  void writeAdmitted(HttpResponse& response, VoucherId voucher, OrderId order) {
    response.status = 202;
    response.body.append(R"({"orderId":")");
    appendNumber(response.body, order.value());
    response.body.append(R"(","status":"queued"})");
    thread_local std::string location;
    location.assign("/api/v1/orders/");
    appendNumber(location, order.value());
    location.append("?voucher=");
    appendNumber(location, voucher.value());
    response.add("Location", location);
    response.add("Sluice-Durability", durability_.name());
  }

  void writeView(Call& call, const OrderView& found) const {
    OrderView view = found;
    view.delayed = !view.row && (view.delayed || engine_.deadLettered(view.id));
    JsonWriter json(call.response.body);
    writeOrderView(json, view);
  }

  static void writeUnknown(HttpResponse& response, OrderId order, VoucherId voucher) {
    response.add("Retry-After", "1");
    JsonWriter(response.body)
        .beginObject()
        .key("orderId")
        .id(order)
        .key("voucherId")
        .id(voucher)
        .member("status", "unknown")
        .endObject();
  }

  void writeResult(Call& call, const Result<OrderView>& result) const {
    if (result.ok()) return writeView(call, result.value());
    setError(call.response, result.error(), false);
  }

  Engine& engine_;
  Parts parts_;
  DurabilityMark durability_;
};

}  // namespace

void addOrderRoutes(RouteList& list, Engine& engine, Parts parts, bool demoPayment) {
  const auto own = std::make_shared<OrderHandlers>(engine, parts);
  const auto add = [&](Method method, std::string_view pattern, std::size_t bodyMax,
                       void (OrderHandlers::*handler)(Call&)) {
    list.add(method, pattern, Access::User, bodyMax,
             [own, handler](Call& call) { (own.get()->*handler)(call); });
  };
  add(Method::Post, "/api/v1/vouchers/{id}/orders", limits::kBodyBytesMax, &OrderHandlers::order);
  add(Method::Get, "/api/v1/orders/{id}", 0, &OrderHandlers::status);
  add(Method::Post, "/api/v1/orders/{id}/cancel", limits::kBodyBytesMax, &OrderHandlers::cancel);
  if (demoPayment) add(Method::Post, "/api/v1/orders/{id}/pay", limits::kBodyBytesMax, &OrderHandlers::pay);
}

}  // namespace sluice::server
