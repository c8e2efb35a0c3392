// The nearest name: what somebody probably meant who mistyped a key, a plugin or a choice.
#include <algorithm>
#include <numeric>

#include "sluice/options.h"

namespace sluice {

namespace {

// Edits that turn one word into the other: insert, delete, replace, swap of neighbours (optimal string
// alignment).
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearestName(std::string_view word, std::span<const std::string> names) {
  // A word longer than any name is no typing mistake; the bound also keeps the cost small.
  constexpr std::size_t kWordBytesMax = 128;
  if (word.size() > kWordBytesMax) return {};
  std::string nearest;
  std::size_t best = word.size() / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = editDistance(word, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace sluice
