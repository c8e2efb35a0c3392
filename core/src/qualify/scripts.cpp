// Puts the scripts together from the embedded .lua files.
#include "qualify/scripts.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "sluice/verdict.h"

namespace sluice {

// Defined in the generated source.
std::string_view scriptText(std::string_view file);

std::string verdictConstants() {
  std::string line;
  for (const Verdict verdict : kVerdicts) {
    std::string name(verdictName(verdict));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    line += "local " + name + "='" + std::to_string(static_cast<int>(verdict)) + "' ";
  }
  return line;
}

namespace {

RedisScript script(const std::string& name) {
  return {name,
          verdictConstants() + "\n" + std::string(scriptText("voucher")) + std::string(scriptText(name))};
}

}  // namespace

Scripts::Scripts()
    : qualify(script("qualify")),
      release(script("release")),
      restore(script("restore")),
      loadHolds(script("load_holds")),
      load(script("load")),
      sync(script("sync")),
      eligible(script("eligible")),
      forgetKeys(script("forget_keys")),
      snapshot(script("snapshot")),
      lead(script("lead")),
      resign(script("resign")),
      setAside(script("set_aside")) {}

}  // namespace sluice
