// See private_ca.h.
#include "support/private_ca.h"

#include <fstream>
#include <stdexcept>

#include "sluice/child_process.h"

#include "support/effort.h"

namespace sluice::test {

namespace {

void openssl(std::vector<std::string> arguments, const std::string& log) {
  ChildOptions options;
  options.arguments = {"openssl"};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.outputFile = log;
  auto child = ChildProcess::start(options);
  if (!child) throw std::runtime_error(child.error().text);
  const auto ended = child.value()->wait(Deadline::in(scaled(milliseconds(30000))));
  if (!ended || *ended != 0) throw std::runtime_error("openssl " + arguments[0] + " fails; see " + log);
}

}  // namespace

PrivateCa::PrivateCa() {
  openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
           "1", "-subj", "/CN=authority of a test", "-keyout", folder_.file("ca.key"), "-out", authority()},
          folder_.file("openssl.log"));
}

PrivateCa::Pair PrivateCa::issue(const std::string& subject, const std::string& names) const {
  const std::string base = folder_.file(subject);
  const std::string log = folder_.file("openssl.log");
  std::ofstream(base + ".ext") << "subjectAltName=" << names << "\n";
  openssl({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
           "/CN=" + subject, "-keyout", base + ".key", "-out", base + ".csr"},
          log);
  openssl({"x509", "-req", "-in", base + ".csr", "-CA", authority(), "-CAkey", folder_.file("ca.key"),
           "-CAcreateserial", "-days", "1", "-extfile", base + ".ext", "-out", base + ".pem"},
          log);
  return {base + ".pem", base + ".key"};
}

}  // namespace sluice::test
