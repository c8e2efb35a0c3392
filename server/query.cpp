// The strict reader of query strings.
#include "query.h"

#include <algorithm>

namespace sluice::server {

namespace {

bool isPlain(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == ':' || c == '_' || c == '-';
  });
}

constexpr HttpFault bad(std::string_view detail) noexcept { return {400, "BAD_QUERY", detail}; }

}  // namespace

std::optional<HttpFault> readQuery(std::string_view query, std::span<QueryParameter> known) noexcept {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return bad("A query parameter must be name=value.");
    const auto found = std::find_if(known.begin(), known.end(), [&](const QueryParameter& parameter) {
      return parameter.name == pair.substr(0, equals);
    });
    if (found == known.end()) return bad("This address does not know the query parameter.");
    if (found->present) return bad("A query parameter must come once.");
    if (!isPlain(pair.substr(equals + 1)))
      return bad("A query value may have letters, digits and .:_- only.");
    *found = {found->name, pair.substr(equals + 1), true};
  }
  return std::nullopt;
}

}  // namespace sluice::server
