// The qualifier in memory: the verdicts of DESIGN section 5 in their order; see fakes.h.
#include <algorithm>

#include "sluice/limits.h"

#include "support/fakes.h"

namespace sluice::test {

namespace {

// What the scripts refuse of a voucher.
std::optional<std::string> faultOfVoucher(const Voucher& voucher) {
  VoucherSettings settings = voucher.settings;
  settings.title = "any";
  if (!voucher.id.valid() || voucher.version < 1) return "a voucher's id and version are positive numbers";
  return faultOf(settings);
}

}  // namespace

Status FakeQualifier::start(Deadline deadline) {
  return faults.run("start", [&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (stopped_) return {ErrorCode::Stopped, "qualifier is stopped"};
    if (deadline.passed()) return {ErrorCode::Unavailable, "the deadline has passed"};
    started_ = true;
    return {};
  });
}

void FakeQualifier::stop() noexcept {
  faults.note("stop");
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  faults.unblock();
}

Result<QualifierHealth> FakeQualifier::probe(Deadline deadline) {
  return call("probe", deadline, [&]() -> Result<QualifierHealth> {
    QualifierHealth health;
    health.identity = "run-" + std::to_string(generation_);
    health.trusted = health.identity == trusted_;
    health.durability = durability_;
    health.clockSkew = clockSkew_;
    health.journalDepth = static_cast<std::int64_t>(journal_.size() + undecodable_.size());
    health.asideDepth = static_cast<std::int64_t>(aside_.size());
    return health;
  });
}

void FakeQualifier::trust(const std::string& identity) {
  faults.note("trust");
  const std::lock_guard lock(mutex_);
  if (identity == "run-" + std::to_string(generation_)) trusted_ = identity;
}

Status FakeQualifier::decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                             std::span<Decision> decisions, Deadline deadline) {
  std::vector<Decision> decided(requests.size());
  const Status answer = call("decide", deadline, [&]() -> Status {
    if (requests.empty() || requests.size() > limits::kQualifyBatchMax ||
        decisions.size() != requests.size()) {
      return {ErrorCode::InvalidArgument, "a batch has 1 to 64 requests and as many decisions"};
    }
    if (trusted_ != "run-" + std::to_string(generation_))
      return {ErrorCode::Unavailable, "server is not trusted yet"};
    if (std::chrono::abs(clockSkew_) > limits::kClockSkewRefuse)
      return {ErrorCode::Unavailable, "the server's clock differs"};
    ++stats_.batches;
    stats_.requests += requests.size();
    const auto sale = sales_.find(voucher);
    for (std::size_t k = 0; k < requests.size(); ++k) {
      decided[k] = sale == sales_.end() ? Decision{Verdict::NotFound, OrderId(), false}
                                        : decideOne(sale->second, requests[k], now);
    }
    return {};
  });
  if (answer) std::copy(decided.begin(), decided.end(), decisions.begin());  // on error no decision is set
  return answer;
}

std::optional<Decision> FakeQualifier::repeated(const Sale& sale, const QualifyRequest& request) {
  const auto holds = sale.holds.find(request.user);
  const bool held =
      holds != sale.holds.end() && std::any_of(holds->second.begin(), holds->second.end(),
                                               [&](const Hold& hold) { return hold.order == request.order; });
  const auto released = sale.released.find(request.order);
  if (held || (released != sale.released.end() && released->second == request.user))
    return Decision{Verdict::Admitted, request.order, false};
  const auto key = sale.keys.find({request.user, std::string(request.idempotencyKey)});
  if (request.idempotencyKey.empty() || key == sale.keys.end()) return std::nullopt;
  if (key->second.quantity != request.quantity) return Decision{Verdict::KeyReused, OrderId(), false};
  return Decision{Verdict::Admitted, key->second.order, false};
}

std::optional<Verdict> FakeQualifier::refusal(const Sale& sale, const QualifyRequest& request, UtcTime now) {
  const VoucherSettings& settings = sale.voucher.settings;
  if (settings.state == VoucherState::Paused) return Verdict::Paused;
  if (now < settings.begin) return Verdict::NotStarted;
  if (now >= settings.end || settings.state == VoucherState::Closed) return Verdict::Ended;
  if (settings.eligibleOnly && !sale.eligible.contains(request.user)) return Verdict::NotEligible;
  if (sale.stock == 0) return Verdict::SoldOut;
  if (sale.stock < request.quantity) return Verdict::Insufficient;
  return std::nullopt;
}

Decision FakeQualifier::decideOne(Sale& sale, const QualifyRequest& request, UtcTime now) {
  if (sale.frozen()) return {Verdict::Frozen, OrderId(), false};
  if (const auto first = repeated(sale, request)) return *first;
  std::vector<Hold>& holds = sale.holds[request.user];
  std::int64_t pieces = request.quantity;
  for (const Hold& hold : holds) {
    pieces += hold.quantity;
  }
  if (pieces > sale.voucher.settings.limitPerUser) {
    if (holds.empty()) return {Verdict::OverLimit, OrderId(), false};
    return {Verdict::AlreadyOrdered, holds.back().order, false};
  }
  if (const auto refused = refusal(sale, request, now)) return {*refused, OrderId(), false};
  if (journalOn_ && journal_.size() >= journalMax_) return {Verdict::Busy, OrderId(), false};
  const Hold hold{request.user, request.order, request.quantity};
  holds.push_back(hold);
  admitted_.insert(hold.order);
  sale.stock -= request.quantity;
  sale.held += request.quantity;
  if (!request.idempotencyKey.empty()) sale.keys[{request.user, std::string(request.idempotencyKey)}] = hold;
  if (journalOn_) append({request.order, request.user, sale.voucher.id, request.quantity, now});
  return {Verdict::Admitted, request.order, true};
}

ReleaseOutcome FakeQualifier::releaseOne(Sale& sale, UserId user, OrderId order) {
  std::vector<Hold>& holds = sale.holds[user];
  const auto hold =
      std::find_if(holds.begin(), holds.end(), [&](const Hold& held) { return held.order == order; });
  if (hold == holds.end()) return ReleaseOutcome::Absent;
  sale.stock += hold->quantity;
  sale.held -= hold->quantity;
  holds.erase(hold);
  ++releases_;
  return ReleaseOutcome::Released;
}

Result<std::vector<ReleaseOutcome>> FakeQualifier::release(std::span<const Admission> orders,
                                                           Deadline deadline) {
  return call("release", deadline, [&]() -> Result<std::vector<ReleaseOutcome>> {
    std::vector<ReleaseOutcome> outcomes;
    for (const Admission& order : orders) {
      const auto found = sales_.find(order.voucher);
      outcomes.push_back(found == sales_.end() ? ReleaseOutcome::NotLoaded
                                               : releaseOne(found->second, order.user, order.order));
      if (outcomes.back() == ReleaseOutcome::Released) found->second.released[order.order] = order.user;
    }
    return outcomes;
  });
}

Status FakeQualifier::takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                               Deadline deadline) {
  return call("takeBack", deadline, [&]() -> Status {
    const auto found = sales_.find(voucher);
    if (found == sales_.end()) return {};
    for (const QualifyRequest& request : requests) {
      (void)releaseOne(found->second, request.user, request.order);
      const auto key = found->second.keys.find({request.user, std::string(request.idempotencyKey)});
      if (key != found->second.keys.end() && key->second.order == request.order)
        found->second.keys.erase(key);
    }
    return {};
  });
}

Result<std::size_t> FakeQualifier::restore(std::span<const Order> liveOrders, Deadline deadline) {
  return call("restore", deadline, [&]() -> Result<std::size_t> {
    std::size_t restored = 0;
    bool damaged = false;
    for (const Order& order : liveOrders) {
      if (!isLive(order.status)) return {ErrorCode::InvalidArgument, "restore: an order is not live"};
    }
    for (const Order& order : liveOrders) {
      const auto found = sales_.find(order.voucher);
      if (found == sales_.end()) continue;
      damaged = damaged || found->second.frozen();
      if (found->second.frozen() || found->second.stock < order.quantity) continue;
      std::vector<Hold>& holds = found->second.holds[order.user];
      if (std::any_of(holds.begin(), holds.end(), [&](const Hold& held) { return held.order == order.id; }))
        continue;
      if (found->second.stock < order.quantity) continue;  // too few pieces are left
      holds.push_back({order.user, order.id, order.quantity});
      found->second.stock -= order.quantity;
      found->second.held += order.quantity;
      ++restored;
    }
    if (damaged) return {ErrorCode::Corrupt, "a voucher is damaged"};
    return restored;
  });
}

Result<LoadOutcome> FakeQualifier::load(const VoucherLoad& load, Deadline deadline) {
  return call("load", deadline, [&]() -> Result<LoadOutcome> {
    if (const auto fault = faultOfVoucher(load.voucher)) return {ErrorCode::InvalidArgument, *fault};
    if (sales_.contains(load.voucher.id)) return LoadOutcome::KeysExist;
    for (const auto& [id, admission] : journal_) {
      if (admission.voucher == load.voucher.id) return LoadOutcome::NotDrained;
    }
    Sale sale;
    sale.voucher = load.voucher;
    for (;;) {
      const auto page = load.nextLiveOrders();
      if (!page) return page.error();
      if (page.value().empty()) break;
      for (const Order& order : page.value()) {
        if (order.voucher != load.voucher.id || !isLive(order.status))
          return {ErrorCode::InvalidArgument, "an order is no live order of the voucher"};
        std::vector<Hold>& holds = sale.holds[order.user];
        if (std::any_of(holds.begin(), holds.end(), [&](const Hold& held) { return held.order == order.id; }))
          continue;
        holds.push_back({order.user, order.id, order.quantity});
        sale.held += order.quantity;
      }
    }
    for (;;) {
      const auto page = load.nextEligible();
      if (!page) return page.error();
      if (page.value().empty()) break;
      sale.eligible.insert(page.value().begin(), page.value().end());
    }
    sale.stock = load.voucher.settings.allocated - sale.held;
    if (sale.stock < 0) return {ErrorCode::Conflict, "more pieces are held than are on sale"};
    sales_[load.voucher.id] = std::move(sale);
    return LoadOutcome::Loaded;
  });
}

Result<SyncOutcome> FakeQualifier::sync(const Voucher& voucher, Deadline deadline) {
  return call("sync", deadline, [&]() -> Result<SyncOutcome> {
    if (const auto fault = faultOfVoucher(voucher)) return {ErrorCode::InvalidArgument, *fault};
    const auto found = sales_.find(voucher.id);
    if (found == sales_.end()) return SyncOutcome::NotLoaded;
    Sale& sale = found->second;
    if (voucher.version <= sale.voucher.version) return SyncOutcome::NotNewer;
    const std::int64_t stock = sale.stock + voucher.settings.allocated - sale.voucher.settings.allocated;
    if (stock < 0) return SyncOutcome::StockTooLow;
    sale.stock = stock;
    sale.voucher = voucher;
    return SyncOutcome::Applied;
  });
}

VoucherSnapshot FakeQualifier::snapshotOf(VoucherId voucher) const {
  VoucherSnapshot seen;
  const auto found = sales_.find(voucher);
  if (found == sales_.end()) return seen;
  const Sale& sale = found->second;
  seen.loaded = true;
  seen.version = sale.voucher.version;
  seen.allocated = sale.voucher.settings.allocated;
  seen.stock = sale.stock;
  seen.held = sale.held;
  seen.state = sale.voucher.settings.state;
  seen.holders = std::count_if(sale.holds.begin(), sale.holds.end(),
                               [](const auto& entry) { return !entry.second.empty(); });
  return seen;
}

Result<VoucherSnapshot> FakeQualifier::snapshot(VoucherId voucher, Deadline deadline) {
  return call("snapshot", deadline, [&]() -> Result<VoucherSnapshot> { return snapshotOf(voucher); });
}

VoucherSnapshot FakeQualifier::peek(VoucherId voucher) const {
  const std::lock_guard lock(mutex_);
  return snapshotOf(voucher);
}

Result<std::vector<Hold>> FakeQualifier::holdsOf(VoucherId voucher, UserId user, Deadline deadline) {
  return call("holdsOf", deadline, [&]() -> Result<std::vector<Hold>> {
    const auto sale = sales_.find(voucher);
    if (sale == sales_.end()) return std::vector<Hold>();
    const auto holds = sale->second.holds.find(user);
    return holds == sale->second.holds.end() ? std::vector<Hold>() : holds->second;
  });
}

Result<std::vector<Hold>> FakeQualifier::scanHolds(VoucherId voucher, std::string& cursor,
                                                   Deadline deadline) {
  return call("scanHolds", deadline, [&]() -> Result<std::vector<Hold>> {
    constexpr std::size_t kUsersInPage = 100;  // small, so that tests page
    if (cursor.empty() || cursor.find_first_not_of("0123456789") != std::string::npos)
      return {ErrorCode::InvalidArgument, "no cursor of holds"};
    std::vector<Hold> page;
    const auto sale = sales_.find(voucher);
    const UserId after(std::stoll(cursor));
    cursor = "0";
    if (sale == sales_.end()) return page;
    std::size_t users = 0;
    for (auto entry = sale->second.holds.upper_bound(after); entry != sale->second.holds.end(); ++entry) {
      if (users++ == kUsersInPage) break;
      cursor = entry->first.text();
      page.insert(page.end(), entry->second.begin(), entry->second.end());
    }
    if (users <= kUsersInPage) cursor = "0";
    return page;
  });
}

Status FakeQualifier::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) {
  return call("addEligible", deadline, [&]() -> Status {
    const auto sale = sales_.find(voucher);
    if (sale == sales_.end()) return {ErrorCode::NotFound, "voucher is not loaded"};
    sale->second.eligible.insert(users.begin(), users.end());
    return {};
  });
}

QualifierStats FakeQualifier::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void FakeQualifier::append(const Admission& admission) { journal_[++lastEntry_] = admission; }

void FakeQualifier::setJournal(bool on, std::size_t max) {
  const std::lock_guard lock(mutex_);
  journalOn_ = on;
  journalMax_ = max;
}

void FakeQualifier::setDurability(Durability level) {
  const std::lock_guard lock(mutex_);
  durability_ = level;
}

void FakeQualifier::setClockSkew(milliseconds skew) {
  const std::lock_guard lock(mutex_);
  clockSkew_ = skew;
}

void FakeQualifier::restart(bool keepsData) {
  if (!keepsData) flushAll();
  const std::lock_guard lock(mutex_);
  ++generation_;
}

void FakeQualifier::flushAll() {
  const std::lock_guard lock(mutex_);
  sales_.clear();
  journal_.clear();
  undecodable_.clear();
  aside_.clear();
  leader_.clear();
  lastLeader_.clear();
  ++journalEpoch_;
}

void FakeQualifier::forgetHold(VoucherId voucher, UserId user) {
  const std::lock_guard lock(mutex_);
  Sale& sale = sales_.at(voucher);
  for (const Hold& hold : sale.holds[user]) {
    sale.stock += hold.quantity;
    sale.held -= hold.quantity;
  }
  sale.holds.erase(user);
}

void FakeQualifier::forgetHold(VoucherId voucher, OrderId order) {
  const std::lock_guard lock(mutex_);
  Sale& sale = sales_.at(voucher);
  for (auto& [user, holds] : sale.holds) {
    const auto hold =
        std::find_if(holds.begin(), holds.end(), [&](const Hold& held) { return held.order == order; });
    if (hold == holds.end()) continue;
    sale.stock += hold->quantity;
    sale.held -= hold->quantity;
    holds.erase(hold);
    return;
  }
}

void FakeQualifier::rememberHold(VoucherId voucher, const Hold& hold) {
  const std::lock_guard lock(mutex_);
  Sale& sale = sales_.at(voucher);
  sale.holds[hold.user].push_back(hold);
  sale.stock -= hold.quantity;
  sale.held += hold.quantity;
}

void FakeQualifier::setStock(VoucherId voucher, std::int64_t stock) {
  const std::lock_guard lock(mutex_);
  sales_.at(voucher).stock = stock;
}

void FakeQualifier::reopen() {
  const std::lock_guard lock(mutex_);
  started_ = stopped_ = false;
  trusted_.clear();
}

std::string FakeQualifier::brokenLaws() const {
  const std::lock_guard lock(mutex_);
  std::string broken;
  for (const auto& [id, sale] : sales_) {
    const auto add = [&broken, id = id](bool wrong, const std::string& law) {
      if (wrong) broken += law + " in Redis: voucher " + id.text() + "\n";
    };
    std::int64_t pieces = 0;
    std::set<OrderId> orders;
    for (const auto& [user, holds] : sale.holds) {
      for (const Hold& hold : holds) {
        pieces += hold.quantity;
        add(!orders.insert(hold.order).second, "CONSERVE_REDIS: order held twice");
      }
    }
    const std::int64_t allocated = sale.voucher.settings.allocated;
    add(sale.stock + sale.held != allocated, "CONSERVE_REDIS: stock + held is not allocated");
    add(sale.held != pieces, "CONSERVE_REDIS: held is not the sum of the holds");
    add(sale.stock < 0 || sale.held < 0, "NEVER_NEGATIVE");
  }
  return broken;
}

std::vector<Hold> FakeQualifier::holds(VoucherId voucher) const {
  const std::lock_guard lock(mutex_);
  std::vector<Hold> all;
  const auto sale = sales_.find(voucher);
  if (sale == sales_.end()) return all;
  for (const auto& [user, holds] : sale->second.holds) {
    all.insert(all.end(), holds.begin(), holds.end());
  }
  return all;
}

std::set<OrderId> FakeQualifier::admittedEver() const {
  const std::lock_guard lock(mutex_);
  return admitted_;
}

void FakeQualifier::appendJournal(const Admission& admission) {
  const std::lock_guard lock(mutex_);
  append(admission);
}

std::vector<std::pair<std::uint64_t, Admission>> FakeQualifier::journalAfter(std::uint64_t entry) const {
  const std::lock_guard lock(mutex_);
  return {journal_.upper_bound(entry), journal_.end()};
}

void FakeQualifier::eraseJournal(std::uint64_t entry) {
  const std::lock_guard lock(mutex_);
  journal_.erase(entry);
}

std::uint64_t FakeQualifier::journalEpoch() const {
  const std::lock_guard lock(mutex_);
  return journalEpoch_;
}

std::uint64_t FakeQualifier::releasesCounted() const {
  const std::lock_guard lock(mutex_);
  return releases_;
}

}  // namespace sluice::test
