// See database_file.h.
#include "database_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::sqlite {

namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what, int error) {
  const ErrorCode code = error == EACCES || error == EPERM || error == ENOTDIR ? ErrorCode::Misconfigured
                                                                               : ErrorCode::Unavailable;
  return {code, what + ": " + std::generic_category().message(error)};
}

Status createFolder(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return {};
  if (Status parent = createFolder(folder.parent_path()); !parent) return parent;
  if (::mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return failed("cannot create the folder " + folder.string(), errno);
}

}  // namespace

Status createDatabaseFile(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return {};
  if (Status folder = createFolder(fs::path(path).parent_path()); !folder) return folder;
  // Made under another name and linked: closing any descriptor of a file drops all locks this process has on
  // it, so the database itself is never opened here, where another store of this process may have just begun
  // to use it.
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (file < 0) return failed("cannot create a file in the folder of " + path, errno);
  ::close(file);
  const int linked = ::link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(temporary.c_str());
  if (linked != 0 && linked != EEXIST) return failed("cannot create the database file " + path, linked);
  return {};
}

}  // namespace sluice::sqlite
