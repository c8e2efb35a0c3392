// The cases of the contracts: what a plugin must show to be one.
//
// A test says in its name which cases it shows: TEST_P(QueueLease, Q34_ExtensionKeepsAMessage...), or
// Q22_Q33_... for two. A test whose capability the plugin does not claim is skipped by skipUnclaimed() after
// it has checked that the call answers Unsupported. matrix_report then prints plugin by case.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace sluice::test {

struct ContractCase {
  std::string_view id;     // Q01
  std::string_view holds;  // what must hold, in a line
};

// "queue", "store", "qualifier", "together" (a queue with a store); empty for another name.
[[nodiscard]] std::span<const ContractCase> casesOf(std::string_view contract);

// The cases that a test's name claims: {"Q22", "Q33"} of "Q22_Q33_ALateSettlement/stream".
[[nodiscard]] std::vector<std::string_view> casesInName(std::string_view testName);

}  // namespace sluice::test
