// Operators' handlers: each reads its input, calls one operation, writes its view.
#include "admin_handlers.h"

#include <array>

#include "json_writer.h"
#include "paging.h"
#include "problem.h"
#include "query.h"
#include "server_limits.h"
#include "views.h"
#include "voucher_body.h"

namespace sluice::server {

namespace {

template <typename T>
void writeResult(Call& call, const Result<T>& result, void (*write)(JsonWriter&, const T&)) {
  if (!result.ok()) return setError(call.response, result.error(), true);
  JsonWriter json(call.response.body);
  write(json, result.value());
}

void writeStatus(Call& call, const Status& status) {
  if (!status.ok()) return setError(call.response, status.error(), true);
  call.response.body = R"({"done":true})";
}

template <typename T>
void writePage(Call& call, std::string_view name, const Result<std::vector<T>>& page,
               void (*write)(JsonWriter&, const T&)) {
  if (!page.ok()) return setError(call.response, page.error(), true);
  JsonWriter json(call.response.body);
  json.beginObject().key(name).beginList();
  for (const T& item : page.value())
    write(json, item);
  json.endList().endObject();
}

std::string_view syncName(SyncOutcome outcome) noexcept {
  switch (outcome) {
    case SyncOutcome::Applied:
      return "applied";
    case SyncOutcome::NotNewer:
      return "not_newer";
    case SyncOutcome::NotLoaded:
      return "not_loaded";
    case SyncOutcome::StockTooLow:
      break;
  }
  return "stock_too_low";
}

Deadline adminDeadline() { return Deadline::in(limits::kAdminDeadline); }

class AdminHandlers {
 public:
  explicit AdminHandlers(Parts parts) : parts_(parts) {}

  // --- vouchers ---

  void createVoucher(Call& call) {
    NewVoucher voucher;
    if (!readNewVoucher(call, voucher)) return;
    const auto created = Vouchers(parts_).create(voucher.id, voucher.settings, adminDeadline());
    writeResult(call, created, writeVoucher);
    if (!created.ok()) return;
    call.response.status = 201;
    call.response.add("Location", "/admin/v1/vouchers/" + created.value().id.text());
  }

  void listVouchers(Call& call) {
    VoucherId after;
    std::size_t limit = 0;
    if (!readVoucherPage(call, after, limit)) return;
    writePage(call, "vouchers", Vouchers(parts_).list(after, limit, adminDeadline()), writeVoucherView);
  }

  void showVoucher(Call& call) {
    VoucherId id;
    if (readPathId(call, 0, id))
      writeResult(call, Vouchers(parts_).show(id, adminDeadline()), writeVoucherView);
  }

  void changeVoucher(Call& call) {
    VoucherId id;
    VoucherChange change;
    if (!readPathId(call, 0, id) || !change.read(call)) return;
    const auto current = Vouchers(parts_).show(id, adminDeadline());
    if (!current.ok()) return setError(call.response, current.error(), true);
    VoucherSettings settings = current.value().voucher.settings;
    if (!change.apply(call, settings)) return;
    writeResult(call, Vouchers(parts_).update(id, change.version(), settings, adminDeadline()), writeVoucher);
  }

  void loadVoucher(Call& call) {
    VoucherId id;
    if (!readPathId(call, 0, id) || !readNoBody(call)) return;
    writeResult(call, Vouchers(parts_).load(id, Deadline::in(limits::kLoadDeadline)), writeVoucherView);
  }

  void syncVoucher(Call& call) {
    VoucherId id;
    if (!readPathId(call, 0, id) || !readNoBody(call)) return;
    const auto outcome = Vouchers(parts_).sync(id, adminDeadline());
    if (!outcome.ok()) return setError(call.response, outcome.error(), true);
    JsonWriter(call.response.body).beginObject().member("sync", syncName(outcome.value())).endObject();
  }

  void closeVoucher(Call& call) {
    VoucherId id;
    if (!readPathId(call, 0, id) || !readNoBody(call)) return;
    writeResult(call, Vouchers(parts_).close(id, adminDeadline()), writeVoucher);
  }

  void addEligible(Call& call) {
    VoucherId id;
    JsonField field("users", JsonKind::StringList, true);
    if (!readPathId(call, 0, id) || !readBody(call, {&field, 1})) return;
    std::vector<UserId> users;
    for (const std::string& text : field.list) {
      const auto user = parseId<UserId>(text);
      if (!user) return setProblem(call.response, 400, "BAD_ID", kIdRule);
      users.push_back(*user);
    }
    writeStatus(call, Vouchers(parts_).addEligible(id, users, adminDeadline()));
  }

  // --- orders ---

  void showOrder(Call& call) {
    OrderNames names;
    if (!readOrder(call, names)) return;
    writeResult(call, Orders(parts_).find(names.order, names.voucher, names.user, adminDeadline()),
                writeOrderView);
  }

  void cancelOrder(Call& call) {
    OrderNames names;
    if (!readOrder(call, names) || !readNoBody(call)) return;
    writeResult(call,
                Orders(parts_).cancel(names.order, names.voucher, names.user, DeadReason::ByOperator,
                                      adminDeadline()),
                writeOrderView);
  }

  void refundOrder(Call& call) {
    OrderId order;
    if (!readPathId(call, 0, order) || !readNoBody(call)) return;
    writeResult(call, Orders(parts_).refund(order, adminDeadline()), writeOrderView);
  }

  // --- audit ---

  void runAudit(Call& call) {
    writeResult(call, audit(parts_, Deadline::in(limits::kAuditDeadline)), writeAudit);
  }

 private:
  // An order that is still queued is found by its hold, so by voucher and user; a stored one by its id.
  struct OrderNames {
    OrderId order;
    VoucherId voucher;
    UserId user;
  };

  static bool readOrder(Call& call, OrderNames& names) {
    if (!readPathId(call, 0, names.order)) return false;
    std::array<QueryParameter, 2> parameters = {{{"voucher", {}, false}, {"user", {}, false}}};
    if (const auto fault = readQuery(call.request.query, parameters)) {
      setProblem(call.response, *fault);
      return false;
    }
    const auto voucher = parseId<VoucherId>(parameters[0].value);
    const auto user = parseId<UserId>(parameters[1].value);
    names.voucher = voucher.value_or(VoucherId());
    names.user = user.value_or(UserId());
    const bool sound = (voucher || !parameters[0].present) && (user || !parameters[1].present);
    if (!sound) setProblem(call.response, 400, "BAD_ID", kIdRule);
    return sound;
  }

  Parts parts_;
};

}  // namespace

void addAdminRoutes(RouteList& list, Parts parts) {
  const auto own = std::make_shared<AdminHandlers>(parts);
  const auto add = [&](Method method, std::string_view pattern, void (AdminHandlers::*handler)(Call&)) {
    const std::size_t bodyMax = method == Method::Get ? 0 : limits::kAdminBodyBytesMax;
    list.add(method, pattern, Access::Operator, bodyMax,
             [own, handler](Call& call) { (own.get()->*handler)(call); });
  };
  add(Method::Post, "/admin/v1/vouchers", &AdminHandlers::createVoucher);
  add(Method::Get, "/admin/v1/vouchers", &AdminHandlers::listVouchers);
  add(Method::Get, "/admin/v1/vouchers/{id}", &AdminHandlers::showVoucher);
  add(Method::Patch, "/admin/v1/vouchers/{id}", &AdminHandlers::changeVoucher);
  add(Method::Post, "/admin/v1/vouchers/{id}/load", &AdminHandlers::loadVoucher);
  add(Method::Post, "/admin/v1/vouchers/{id}/sync", &AdminHandlers::syncVoucher);
  add(Method::Post, "/admin/v1/vouchers/{id}/close", &AdminHandlers::closeVoucher);
  add(Method::Post, "/admin/v1/vouchers/{id}/eligible", &AdminHandlers::addEligible);
  add(Method::Get, "/admin/v1/orders/{id}", &AdminHandlers::showOrder);
  add(Method::Post, "/admin/v1/orders/{id}/cancel", &AdminHandlers::cancelOrder);
  add(Method::Post, "/admin/v1/orders/{id}/refund", &AdminHandlers::refundOrder);
  add(Method::Get, "/admin/v1/audit", &AdminHandlers::runAudit);
}

}  // namespace sluice::server
