// A certificate authority of a test's own, made by openssl: files in PEM, valid for a day.
#pragma once

#include <string>

#include "support/temp_folder.h"

namespace sluice::test {

class PrivateCa {
 public:
  PrivateCa();

  struct Pair {
    std::string certificate;  // paths
    std::string key;
  };
  [[nodiscard]] std::string authority() const { return folder_.file("ca.pem"); }
  // `subject` is who it is for; `names` as openssl writes them: "DNS:localhost,IP:127.0.0.1".
  [[nodiscard]] Pair issue(const std::string& subject, const std::string& names) const;

 private:
  TempFolder folder_;
};

}  // namespace sluice::test
