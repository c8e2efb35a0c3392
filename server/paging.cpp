// Reading of page parameters.
#include "paging.h"

#include <array>

#include "problem.h"
#include "query.h"

namespace sluice::server {

bool readPage(Call& call, Page& page) {
  std::array<QueryParameter, 2> parameters = {{{"after", {}, false}, {"limit", {}, false}}};
  if (const auto fault = readQuery(call.request.query, parameters)) {
    setProblem(call.response, *fault);
    return false;
  }
  page.after = parameters[0].value;
  if (!parameters[1].present) return true;
  const auto limit = parsePositive(parameters[1].value);
  if (limit && *limit <= static_cast<std::int64_t>(limits::kPageMax)) {
    page.limit = static_cast<std::size_t>(*limit);
    return true;
  }
  setProblem(call.response, 400, "BAD_QUERY", "limit must be from 1 to 100.");
  return false;
}

bool readVoucherPage(Call& call, VoucherId& after, std::size_t& limit) {
  Page page;
  if (!readPage(call, page)) return false;
  limit = page.limit;
  if (page.after.empty()) return true;
  const auto parsed = parseId<VoucherId>(page.after);
  if (parsed) {
    after = *parsed;
    return true;
  }
  setProblem(call.response, 400, "BAD_ID", kIdRule);
  return false;
}

}  // namespace sluice::server
