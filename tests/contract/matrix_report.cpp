// Prints which contract cases which plugin has shown, from the files that the contract tests left.
//
// usage: matrix_report FOLDER CONTRACT:PLUGIN ...     FOLDER holds <contract>.<plugin>.<program>.txt
// Exit code 1 where a cell is empty, failed or skipped without a missing capability.
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "contract/cases.h"

namespace {

using sluice::test::ContractCase;

struct Cell {
  int passed = 0;
  std::vector<std::string> bad;  // tests that failed, or were skipped without a reason
  std::string unclaimed;         // the missing capability

  [[nodiscard]] std::string text() const {
    if (!bad.empty()) return "FAILED";
    if (passed > 0) return "pass " + std::to_string(passed);
    return unclaimed.empty() ? "EMPTY" : "- " + unclaimed;
  }
  [[nodiscard]] bool isRight() const { return bad.empty() && (passed > 0 || !unclaimed.empty()); }
};

// case -> cell, of one plugin.
using Column = std::map<std::string, Cell, std::less<>>;

void add(Column& column, const std::filesystem::path& file) {
  std::ifstream lines(file);
  std::string id, result, test;
  while (std::getline(lines, id, '\t') && std::getline(lines, result, '\t') && std::getline(lines, test)) {
    Cell& cell = column[id];
    if (result == "passed") {
      ++cell.passed;
    } else if (result.rfind("unclaimed:", 0) == 0) {
      cell.unclaimed = result.substr(10);
    } else {
      cell.bad.push_back(test + " " + result);
    }
  }
}

Column read(const std::filesystem::path& folder, const std::string& contract, const std::string& plugin) {
  Column column;
  if (!std::filesystem::exists(folder)) return column;
  const std::string prefix = contract + "." + plugin + ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) add(column, entry.path());
  }
  return column;
}

constexpr int kStatementWidth = 92;
constexpr int kCellWidth = 18;

// Answers how many cells are wrong.
int print(const std::string& contract, const std::map<std::string, Column>& columns) {
  std::cout << '\n' << std::left << std::setw(kStatementWidth + 5) << ("contract: " + contract);
  for (const auto& [plugin, column] : columns)
    std::cout << std::setw(kCellWidth) << plugin;
  std::cout << '\n';
  int wrong = 0;
  for (const ContractCase& one : sluice::test::casesOf(contract)) {
    std::cout << std::setw(5) << one.id << std::setw(kStatementWidth) << one.holds;
    for (const auto& [plugin, column] : columns) {
      const auto found = column.find(one.id);
      const Cell cell = found == column.end() ? Cell{} : found->second;
      std::cout << std::setw(kCellWidth) << cell.text();
      wrong += cell.isRight() ? 0 : 1;
      for (const std::string& bad : cell.bad)
        std::cout << "\n       " << bad;
    }
    std::cout << '\n';
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: matrix_report FOLDER CONTRACT:PLUGIN ...\n";
    return 2;
  }
  std::map<std::string, std::map<std::string, Column>> contracts;
  for (int k = 2; k < argc; ++k) {
    const std::string name = argv[k];
    const std::size_t colon = name.find(':');
    const std::string contract = name.substr(0, colon);
    if (colon == std::string::npos || sluice::test::casesOf(contract).empty()) {
      std::cerr << name << ": not CONTRACT:PLUGIN with queue, store, qualifier or together as the contract\n";
      return 2;
    }
    const std::string plugin = name.substr(colon + 1);
    contracts[contract][plugin] = read(argv[1], contract, plugin);
  }
  int wrong = 0;
  for (const auto& [contract, columns] : contracts)
    wrong += print(contract, columns);
  std::cout << '\n'
            << (wrong == 0 ? "every cell is explained" : std::to_string(wrong) + " cells are not") << '\n';
  return wrong == 0 ? 0 : 1;
}
