// Runs each file of the folders named once through a fuzz target, without libFuzzer.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "fuzz/property.h"

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int k = 1; k < argc; ++k) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[k])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
      std::cout << entry.path().filename().string() << std::endl;  // flushed: a crash ends the program
      const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
      (void)LLVMFuzzerTestOneInput(input.data(), input.size());
      ++files;
    }
  }
  std::cout << files << " inputs\n";
  return files > 0 ? 0 : 1;  // an empty corpus proves nothing
}
