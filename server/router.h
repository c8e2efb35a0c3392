// The route table: which method and path goes to which handler, who may call it, and how large its body
// may be.
//
// Role:     one table for dispatch, for `Allow`, for the printed list and for tests of rights.
// Paths:    fixed ASCII segments and `{name}` for exactly one segment. No percent-decoding, no trailing
//           slash, case matters: everything else is unknown.
// Threads:  read-only after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http_message.h"

namespace sluice::server {

enum class Access : std::uint8_t {
  Anyone,
  User,     // identified by UserAuth
  Operator  // AdminAuth
};

[[nodiscard]] std::string_view accessName(Access access) noexcept;  // "anyone", "user", "operator"

struct Route {
  Method method;
  std::string_view pattern;  // static text
  Access access;
  std::size_t handler;  // index into the owner's handlers
  std::size_t bodyMax = 0;
};

// The segments that stood for {…}, in order.
struct PathParameters {
  static constexpr std::size_t kMax = 2;
  std::array<std::string_view, kMax> values;
  std::size_t count = 0;
};

struct RouteMatch {
  const Route* route = nullptr;  // none: unknown path, or the method is not among `allowed`
  bool pathKnown = false;
  PathParameters parameters;
};

class Router {
 public:
  explicit Router(std::vector<Route> routes);

  // HEAD is answered by the route of GET.
  [[nodiscard]] RouteMatch match(Method method, std::string_view path) const noexcept;
  // "GET, HEAD, POST" of a path, for 405.
  [[nodiscard]] std::string allowed(std::string_view path) const;
  [[nodiscard]] std::span<const Route> routes() const noexcept { return routes_; }
  // One line a route: method, pattern, who may call it.
  [[nodiscard]] std::string table() const;

 private:
  std::vector<Route> routes_;
};

}  // namespace sluice::server
