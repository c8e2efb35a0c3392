// Public reads. Each answer is kept for limits::kBoardAge and has the server's time, so that a page can count
// down without its own clock.
#include "voucher_handlers.h"

#include "json_writer.h"
#include "paging.h"
#include "problem.h"
#include "short_cache.h"
#include "views.h"

namespace sluice::server {

namespace {

class VoucherHandlers {
 public:
  VoucherHandlers(Engine& engine, Parts parts) : engine_(engine), parts_(parts), cache_(parts.clock) {}

  void show(Call& call) {
    VoucherId id;
    if (!readPathId(call, 0, id)) return;
    // Ids that the engine does not know are refused without asking anybody.
    const auto known = engine_.knownVoucher(id);
    if (!known) return setProblem(call.response, 404, "NOT_FOUND", verdictAnswer(Verdict::NotFound).detail);
    const std::string key = "/" + id.text();
    std::string voucher;
    if (!cache_.get(key, voucher)) {
      voucher = voucherViewJson({*known, snapshotOf(id)});
      cache_.put(key, voucher);
    }
    write(call.response, "voucher", voucher);
  }

  void list(Call& call) {
    VoucherId after;
    std::size_t limit = 0;
    if (!readVoucherPage(call, after, limit)) return;
    const std::string key = after.text() + "+" + std::to_string(limit);
    std::string vouchers;
    if (!cache_.get(key, vouchers)) {
      const auto found = Vouchers(parts_).list(after, limit, Deadline::in(limits::kReadDeadline));
      if (!found.ok()) return setError(call.response, found.error(), false);
      JsonWriter json(vouchers);
      json.beginList();
      for (const VoucherView& view : found.value())
        writeVoucherView(json, view);
      json.endList();
      cache_.put(key, vouchers);
    }
    write(call.response, "vouchers", vouchers);
  }

 private:
  std::optional<VoucherSnapshot> snapshotOf(VoucherId id) const {
    auto snapshot = parts_.qualifier.snapshot(id, Deadline::in(limits::kReadDeadline));
    return snapshot.ok() ? std::optional(snapshot.value()) : std::nullopt;
  }

  void write(HttpResponse& response, std::string_view name, std::string_view json) const {
    JsonWriter(response.body).beginObject().key("serverTime").time(parts_.clock.now());
    response.body.append(",\"").append(name).append("\":").append(json).append("}");
  }

  Engine& engine_;
  Parts parts_;
  ShortCache cache_;
};

}  // namespace

void addVoucherRoutes(RouteList& list, Engine& engine, Parts parts) {
  const auto own = std::make_shared<VoucherHandlers>(engine, parts);
  list.add(Method::Get, "/api/v1/vouchers", Access::Anyone, 0, [own](Call& call) { own->list(call); });
  list.add(Method::Get, "/api/v1/vouchers/{id}", Access::Anyone, 0, [own](Call& call) { own->show(call); });
}

}  // namespace sluice::server
