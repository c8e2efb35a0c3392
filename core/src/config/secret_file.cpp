// Opens first and then asks about what was opened, so that nobody can exchange the file between check and
// read.
#include "config/secret_file.h"

#include <array>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/printable.h"

namespace sluice {

namespace {

constexpr std::size_t kSecretBytesMax = 4096;

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

Error refused(const std::string& path, const std::string& what) {
  return {ErrorCode::Misconfigured, "secret file " + printable(path, 300) + " " + what};
}

std::string octal(mode_t mode) {
  std::string digits = "0";
  for (const unsigned shift : {6u, 3u, 0u}) {
    digits += static_cast<char>('0' + ((mode >> shift) & 7u));
  }
  return digits;
}

Status checkFile(const std::string& path, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0)
    return refused(path, "cannot be examined: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return refused(path, "is not a regular file");
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return refused(path,
                   "is open to everybody (mode " + octal(status.st_mode) + "); give it mode 0600 or 0640");
  }
  return {};
}

Result<std::string> readAll(const std::string& path, int file) {
  std::string content;
  std::array<char, 1024> buffer{};
  while (content.size() <= kSecretBytesMax) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0) return refused(path, "cannot be read: " + std::generic_category().message(errno));
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return refused(path, "is larger than 4 KiB; it must hold the secret alone");
}

}  // namespace

Result<std::string> readSecretFile(const std::string& path) {
  // Not blocking: a named pipe that nobody writes must not stop the start.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return refused(path, "cannot be opened: " + std::generic_category().message(errno));
  if (const Status checked = checkFile(path, file.number()); !checked) return checked.error();
  Result<std::string> content = readAll(path, file.number());
  if (!content) return content;
  std::string& secret = content.value();
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.ends_with('\r')) secret.pop_back();
  if (secret.empty()) return refused(path, "is empty");
  if (!isPrintable(secret))
    return refused(path, "has several lines or control characters; it must hold one line of text");
  return content;
}

}  // namespace sluice
