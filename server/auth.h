// Who asks: the user behind a request, and whether it comes from an operator.
//
// Role:     the one seam through which identity enters; handlers see a UserId or nothing at all.
// Threads:  every call from any thread; read-only after construction.
// Limits:   in mode `header` a proxy in front has checked the user and sets X-User-Id; whoever reaches this
//           port may claim any user.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sluice/ids.h"
#include "sluice/result.h"

#include "http_message.h"

namespace sluice::server {

class UserAuth {
 public:
  virtual ~UserAuth();
  // The user, or the refusal (401, 400).
  [[nodiscard]] virtual std::variant<UserId, HttpFault> identify(const HttpRequest& request) const = 0;
  // The value of WWW-Authenticate beside a 401.
  [[nodiscard]] virtual std::string_view challenge() const noexcept = 0;
};

// Reads X-User-Id: decimal, 1 .. 2^63-1, exactly once. A header with an underscore in its name is another
// header.
[[nodiscard]] std::unique_ptr<UserAuth> makeHeaderAuth();

// Compares in a time that depends on the lengths only.
[[nodiscard]] bool equalsInConstantTime(std::string_view left, std::string_view right) noexcept;

// `Authorization: Bearer <token>` against the one token of this server.
class AdminAuth {
 public:
  // Empty: nobody is an operator over HTTP.
  explicit AdminAuth(std::string token) : token_(std::move(token)) {}
  // Nothing where the request is an operator's.
  [[nodiscard]] std::optional<HttpFault> refuse(const HttpRequest& request) const;

 private:
  std::string token_;
};

// Reads the token from `<dataDir>/admin.token`, which is written first (new random token, mode 0600) where it
// does not exist. Misconfigured where the file is readable by others or cannot be written.
[[nodiscard]] Result<std::string> generatedAdminToken(const std::string& dataDir);
[[nodiscard]] std::string adminTokenPath(const std::string& dataDir);

// Shorter tokens are refused at start: they could be guessed.
inline constexpr std::size_t kAdminTokenBytesMin = 32;
inline constexpr std::size_t kAdminTokenBytesMax = 512;

}  // namespace sluice::server
