// Identity by header, the operator's token, and the token file.
#include "auth.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::server {

UserAuth::~UserAuth() = default;

namespace {

class HeaderAuth final : public UserAuth {
 public:
  std::variant<UserId, HttpFault> identify(const HttpRequest& request) const override {
    const HeaderLookup found = request.header("X-User-Id");
    if (found.count == 0) {
      return HttpFault{401, "USER_MISSING", "Send the header X-User-Id with your user id."};
    }
    if (found.count > 1) return HttpFault{400, "USER_AMBIGUOUS", "X-User-Id must come once."};
    const auto user = parseId<UserId>(found.value);
    if (!user) {
      return HttpFault{401, "USER_INVALID",
                       "X-User-Id must be a decimal number from 1 to 9223372036854775807."};
    }
    return *user;
  }
  std::string_view challenge() const noexcept override { return "X-User-Id realm=\"sluice\""; }
};

// A descriptor that closes itself.
class OwnedFile {
 public:
  explicit OwnedFile(int descriptor) noexcept : descriptor_(descriptor) {}
  ~OwnedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

std::string because(const std::string& path, const char* what) {
  return std::string(what) + " " + path + ": " + std::generic_category().message(errno);
}

std::string randomHex(std::size_t bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, 32> raw{};
  if (::getrandom(raw.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    throw std::system_error(errno, std::generic_category());
  std::string text;
  for (std::size_t k = 0; k < bytes; ++k) {
    text += kHex[raw[k] >> 4u];
    text += kHex[raw[k] & 0xFu];
  }
  return text;
}

Result<std::string> readToken(const std::string& path) {
  const OwnedFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return {ErrorCode::Misconfigured, because(path, "cannot read")};
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return {ErrorCode::Misconfigured, because(path, "cannot read")};
  if ((facts.st_mode & 077u) != 0)
    return {ErrorCode::Misconfigured, path + " is open to others: chmod 600 it, or delete it for a new one"};
  std::array<char, kAdminTokenBytesMax + 2> text{};
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length < 0) return {ErrorCode::Misconfigured, because(path, "cannot read")};
  std::string token(text.data(), static_cast<std::size_t>(length));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r'))
    token.pop_back();
  if (token.size() < kAdminTokenBytesMin || token.size() > kAdminTokenBytesMax) {
    return {ErrorCode::Misconfigured,
            path + " holds no token of 32 to 512 characters: delete it for a new one"};
  }
  return token;
}

Status writeToken(const std::string& path, const std::string& token) {
  const OwnedFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return {ErrorCode::Misconfigured, because(path, "cannot write")};
  const std::string line = token + "\n";
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return {ErrorCode::Misconfigured, because(path, "cannot write")};
  }
  return {};
}

}  // namespace

std::unique_ptr<UserAuth> makeHeaderAuth() { return std::make_unique<HeaderAuth>(); }

bool equalsInConstantTime(std::string_view left, std::string_view right) noexcept {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t k = 0; k < left.size(); ++k) {
    difference = static_cast<unsigned char>(
        difference | (static_cast<unsigned char>(left[k]) ^ static_cast<unsigned char>(right[k])));
  }
  return difference == 0;
}

std::optional<HttpFault> AdminAuth::refuse(const HttpRequest& request) const {
  if (token_.empty()) {
    return HttpFault{403, "ADMIN_OFF",
                     "No operator's token is set: give admin.token (environment SLUICE_ADMIN_TOKEN or "
                     "admin.token.file), or set "
                     "admin.token.generate = true."};
  }
  const HeaderLookup found = request.header("Authorization");
  if (found.count > 1) return HttpFault{400, "AUTHORIZATION_AMBIGUOUS", "Authorization must come once."};
  constexpr std::string_view kScheme = "Bearer ";
  const bool bearer = found.count == 1 && equalsIgnoringCase(found.value.substr(0, kScheme.size()), kScheme);
  if (!bearer || !equalsInConstantTime(found.value.substr(kScheme.size()), token_)) {
    return HttpFault{401, "ADMIN_TOKEN", "Send the operator's token: Authorization: Bearer <token>."};
  }
  return std::nullopt;
}

std::string adminTokenPath(const std::string& dataDir) { return dataDir + "/admin.token"; }

Result<std::string> generatedAdminToken(const std::string& dataDir) {
  const std::string path = adminTokenPath(dataDir);
  if (::access(path.c_str(), F_OK) != 0) {
    if (::mkdir(dataDir.c_str(), 0700) != 0 && errno != EEXIST)
      return {ErrorCode::Misconfigured, because(dataDir, "cannot make")};
    if (Status written = writeToken(path, randomHex(32)); !written) return written.error();
  }
  return readToken(path);
}

}  // namespace sluice::server
