// Matching of paths against the table.
#include "router.h"

#include <algorithm>

namespace sluice::server {

namespace {

// Cuts "/segment" from the front of a path.
std::string_view takeSegment(std::string_view& path) noexcept {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches(std::string_view pattern, std::string_view path, PathParameters& parameters) noexcept {
  parameters.count = 0;
  while (!pattern.empty() && !path.empty() && path.front() == '/') {
    const std::string_view wanted = takeSegment(pattern);
    const std::string_view given = takeSegment(path);
    if (!wanted.empty() && wanted.front() == '{') {
      if (given.empty()) return false;
      parameters.values[parameters.count++] = given;
    } else if (wanted != given) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

constexpr Method asRouted(Method method) noexcept { return method == Method::Head ? Method::Get : method; }

}  // namespace

std::string_view accessName(Access access) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"anyone", "user", "operator"};
  return kNames[static_cast<std::size_t>(access)];
}

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

RouteMatch Router::match(Method method, std::string_view path) const noexcept {
  RouteMatch match;
  for (const Route& route : routes_) {
    if (!matches(route.pattern, path, match.parameters)) continue;
    match.pathKnown = true;
    if (route.method != asRouted(method)) continue;
    match.route = &route;
    return match;
  }
  return match;
}

std::string Router::allowed(std::string_view path) const {
  std::string list;
  PathParameters ignored;
  for (const Route& route : routes_) {
    if (!matches(route.pattern, path, ignored)) continue;
    list.append(list.empty() ? "" : ", ").append(methodName(route.method));
    if (route.method == Method::Get) list.append(", HEAD");
  }
  return list;
}

std::string Router::table() const {
  std::string text;
  for (const Route& route : routes_) {
    std::string line(methodName(route.method));
    line.resize(7, ' ');
    line.append(route.pattern);
    line.resize(std::max<std::size_t>(line.size() + 1, 52), ' ');
    text.append(line).append(accessName(route.access)).append("\n");
  }
  return text;
}

}  // namespace sluice::server
