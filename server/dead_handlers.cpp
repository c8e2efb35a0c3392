// See dead_handlers.h. A filter stands in the query, the same for the list and for what is done to many.
#include "dead_handlers.h"

#include <algorithm>
#include <array>

#include "json_writer.h"
#include "paging.h"
#include "problem.h"
#include "query.h"
#include "server_limits.h"
#include "utc_text.h"
#include "views.h"

namespace sluice::server {

namespace {

constexpr std::size_t kDeadIdBytesMax = 128;

Deadline inTime() { return Deadline::in(limits::kAdminDeadline); }

// What the query of these addresses may say.
class DeadQuery {
 public:
  // `words` of them, counted from the first. False: the answer is the refusal.
  bool read(Call& call, std::size_t words) {
    if (const auto fault = readQuery(call.request.query, std::span(parameters_).first(words))) {
      setProblem(call.response, *fault);
      return false;
    }
    const bool sound = readId(Voucher, filter.voucher) && readId(User, filter.user) &&
                       readId(Order, filter.order) && readTime(Since, filter.since) &&
                       readTime(Until, filter.until) && readFlag(Undecodable, filter.undecodable) &&
                       readFlag(All, all) && readFlag(DryRun, dryRun) && readLimit();
    filter.reason = parameters_[Reason].value;
    after = parameters_[After].value;
    if (!sound) setProblem(call.response, 400, "BAD_QUERY", why_);
    return sound;
  }

  static constexpr std::size_t kOfList = 9;
  static constexpr std::size_t kOfDeed = 11;
  DeadFilter filter;
  std::string after;
  std::size_t limit = limits::kPageDefault;
  bool all = false;
  bool dryRun = false;

 private:
  enum Name : std::size_t {
    After,
    Limit,
    Voucher,
    User,
    Order,
    Reason,
    Since,
    Until,
    Undecodable,
    All,
    DryRun
  };

  bool refuse(std::string_view why) {
    why_ = why;
    return false;
  }
  template <typename IdType>
  bool readId(Name name, IdType& id) {
    if (!parameters_[name].present) return true;
    const auto parsed = parseId<IdType>(parameters_[name].value);
    if (!parsed) return refuse(kIdRule);
    id = *parsed;
    return true;
  }
  bool readTime(Name name, std::optional<UtcTime>& time) {
    if (!parameters_[name].present) return true;
    time = parseUtcText(parameters_[name].value);
    return time || refuse("since and until are instants in UTC, such as 2026-11-11T12:00:00Z.");
  }
  bool readFlag(Name name, bool& flag) {
    if (!parameters_[name].present) return true;
    flag = parameters_[name].value == "true";
    return flag || refuse("undecodable, all and dryRun are true or not given.");
  }
  bool readLimit() {
    if (!parameters_[Limit].present) return true;
    const auto parsed = parsePositive(parameters_[Limit].value);
    if (!parsed || *parsed > static_cast<std::int64_t>(limits::kPageMax))
      return refuse("limit must be from 1 to 100.");
    limit = static_cast<std::size_t>(*parsed);
    return true;
  }

  std::array<QueryParameter, kOfDeed> parameters_ = {{{"after", {}, false},
                                                      {"limit", {}, false},
                                                      {"voucher", {}, false},
                                                      {"user", {}, false},
                                                      {"order", {}, false},
                                                      {"reason", {}, false},
                                                      {"since", {}, false},
                                                      {"until", {}, false},
                                                      {"undecodable", {}, false},
                                                      {"all", {}, false},
                                                      {"dryRun", {}, false}}};
  std::string_view why_;
};

// Ids of dead letters are the queue's own words.
bool readDeadId(Call& call, std::string& id) {
  id = call.path.values[0];
  const bool sound = id.size() <= kDeadIdBytesMax && std::all_of(id.begin(), id.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '.' || c == ':' || c == '_' || c == '-';
                     });
  if (!sound) {
    setProblem(call.response, 400, "BAD_ID", "The id of a dead letter is one of those that the list shows.");
  }
  return sound;
}

void writeStatus(Call& call, const Status& status) {
  if (!status.ok()) return setError(call.response, status.error(), true);
  call.response.body = R"({"done":true})";
}

class DeadHandlers {
 public:
  explicit DeadHandlers(Parts parts) : letters_(parts), clock_(parts.clock) {}

  void list(Call& call) {
    DeadQuery query;
    if (!query.read(call, DeadQuery::kOfList)) return;
    const auto page = letters_.find(query.filter, query.after, query.limit, inTime());
    if (!page.ok()) return setError(call.response, page.error(), true);
    JsonWriter json(call.response.body);
    json.beginObject().key("deadLetters").beginList();
    for (const DeadLetter& letter : page.value().letters)
      writeDeadLetter(json, letter);
    json.endList();
    if (!page.value().next.empty()) json.member("next", page.value().next);
    json.endObject();
  }

  void show(Call& call) {
    std::string id;
    if (!readDeadId(call, id)) return;
    const auto letter = letters_.show(id, inTime());
    if (!letter.ok()) return setError(call.response, letter.error(), true);
    JsonWriter json(call.response.body);
    writeDeadLetter(json, letter.value());
  }

  void replay(Call& call) {
    std::string id;
    if (readDeadId(call, id) && readNoBody(call)) writeStatus(call, letters_.replay(id, inTime()));
  }

  void drop(Call& call) {
    std::string id;
    if (readDeadId(call, id) && readNoBody(call)) writeStatus(call, letters_.drop(id, inTime()));
  }

  void replayMany(Call& call) { sweep(call, DeadDeed::Replay); }
  void dropMany(Call& call) { sweep(call, DeadDeed::Drop); }

 private:
  void sweep(Call& call, DeadDeed deed) {
    DeadQuery query;
    if (!query.read(call, DeadQuery::kOfDeed) || !readNoBody(call)) return;
    if (query.filter.isEmpty() && !query.all) {
      return setProblem(
          call.response, 400, "BAD_QUERY",
          "Say which letters (voucher, user, order, reason, since, until, undecodable), or all=true.");
    }
    // Written into the answer: who goes on with it does not meet letters that were put aside since.
    if (!query.filter.until) query.filter.until = clock_.now() + milliseconds(1);
    const auto swept = letters_.sweep(query.filter, query.dryRun ? DeadDeed::Count : deed, query.after,
                                      query.limit, inTime());
    if (!swept.ok()) return setError(call.response, swept.error(), true);
    JsonWriter json(call.response.body);
    json.beginObject().flag("dryRun", query.dryRun);
    json.key("until").time(*query.filter.until);
    writeDeadSweep(json, swept.value());
    json.endObject();
  }

  DeadLetters letters_;
  const Clock& clock_;
};

}  // namespace

void addDeadRoutes(RouteList& list, Parts parts) {
  const auto own = std::make_shared<DeadHandlers>(parts);
  const auto add = [&](Method method, std::string_view pattern, void (DeadHandlers::*handler)(Call&)) {
    const std::size_t bodyMax = method == Method::Get ? 0 : limits::kAdminBodyBytesMax;
    list.add(method, pattern, Access::Operator, bodyMax,
             [own, handler](Call& call) { (own.get()->*handler)(call); });
  };
  add(Method::Get, "/admin/v1/dead", &DeadHandlers::list);
  add(Method::Post, "/admin/v1/dead/replay", &DeadHandlers::replayMany);
  add(Method::Post, "/admin/v1/dead/drop", &DeadHandlers::dropMany);
  add(Method::Get, "/admin/v1/dead/{id}", &DeadHandlers::show);
  add(Method::Post, "/admin/v1/dead/{id}/replay", &DeadHandlers::replay);
  add(Method::Post, "/admin/v1/dead/{id}/drop", &DeadHandlers::drop);
}

}  // namespace sluice::server
