// Reads what effort.h describes from the environment.
#include "support/effort.h"

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace sluice::test {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double timeScale() {
  static const double scale = [] {
    const std::string text = environment("SLUICETEST_TIME_SCALE");
    return text.empty() ? 1.0 : std::stod(text);
  }();
  return scale;
}

std::uint64_t chooseSeed() {
  const std::string text = environment("SLUICETEST_SEED");
  const std::uint64_t seed = text.empty() ? std::random_device()() : std::stoull(text);
  std::cout << "seed " << seed << ", to repeat: SLUICETEST_SEED=" << seed << '\n';
  return seed;
}

}  // namespace

milliseconds scaled(milliseconds time) {
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * timeScale()));
}

bool isCampaign() {
  static const bool campaign = environment("SLUICETEST_CAMPAIGN") == "1";
  return campaign;
}

std::uint64_t testSeed() {
  static const std::uint64_t seed = chooseSeed();
  return seed;
}

}  // namespace sluice::test
