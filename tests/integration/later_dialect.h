// The dialect of a later program: one good step more, and where `broken` is true another one whose second
// statement fails.
#pragma once

#include <span>
#include <vector>

#include "dialect.h"

namespace sluice::test {

template <typename Base>
class LaterDialect final : public Base {
 public:
  template <typename Options>
  LaterDialect(Options options, bool broken) : Base(std::move(options)) {
    static constexpr const char* kExtra[] = {"CREATE TABLE extra (id INTEGER PRIMARY KEY)"};
    static constexpr const char* kBroken[] = {"CREATE TABLE more (id INTEGER PRIMARY KEY)",
                                              "CREATE TABLE more (id INTEGER)"};
    const auto ours = Base::migrations();
    steps_.assign(ours.begin(), ours.end());
    const int last = steps_.back().version;
    steps_.push_back({last + 1, "extra", kExtra});
    if (broken) steps_.push_back({last + 2, "broken", kBroken});
  }
  std::span<const sql::Migration> migrations() const noexcept override { return steps_; }

 private:
  std::vector<sql::Migration> steps_;
};

}  // namespace sluice::test
