// Statements: their text, running them, and reading their rows.
//
// Only 64-bit integers are ever written into a text, by these functions, because binding thousands of single
// parameters through SOCI costs more than the database's own work, and vector binding re-sends stale batches
// on two of the three databases. A number cannot carry SQL. Text (titles, names, tokens) is always bound.
// Every run is a statement object of its own: SOCI's rebinding keeps dead entries, and statements hidden in
// temporaries run in destructors that throw.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/ids.h"

#include "session.h"

namespace sluice::sql {

// A statement's text: pieces of SQL and numbers.
class Text {
 public:
  explicit Text(std::string_view start = {}) : text_(start) {}
  Text& operator<<(std::string_view piece) {
    text_ += piece;
    return *this;
  }
  Text& operator<<(std::int64_t number);
  Text& operator<<(std::optional<std::int64_t> number) { return number ? *this << *number : *this << "NULL"; }
  template <typename Tag>
  Text& operator<<(Id<Tag> id) {
    return *this << id.value();
  }
  Text& operator<<(UtcTime time) { return *this << toMillis(time); }
  // "(1,2,3)" of a range's elements, each through `part`, which appends one element. Requires a range that is
  // not empty.
  template <typename Range, typename Part>
  Text& list(const Range& range, Part&& part) {
    char separator = '(';
    for (const auto& element : range) {
      text_ += separator;
      part(*this, element);
      separator = ',';
    }
    text_ += ')';
    return *this;
  }
  template <typename Range>
  Text& list(const Range& range) {
    return list(range, [](Text& text, const auto& element) { text << element; });
  }
  [[nodiscard]] const std::string& str() const noexcept { return text_; }

 private:
  std::string text_;
};

// Not prepared on the server first: every statement runs once, and preparing would cost two more round trips.
inline constexpr auto kOnce = soci::details::st_one_time_query;

// Runs a statement without rows; answers how many rows it matched. `texts` are bound in order to its :names.
std::int64_t execute(Session& session, const Text& text, std::initializer_list<std::string_view> texts = {});

// The rows of a SELECT: `Numbers` integer columns followed by `Texts` text columns.
// (SOCI's own dynamic rows are no way: on SQLite they cut INTEGER columns to 32 bits.)
template <std::size_t Numbers, std::size_t Texts = 0>
class Rows {
 public:
  Rows(Session& session, const Text& text, std::initializer_list<std::string_view> bound = {})
      : bound_(bound.begin(), bound.end()), statement_(session.soci) {
    for (std::size_t k = 0; k < Numbers; ++k) {
      statement_.exchange(soci::into(numbers_[k], nulls_[k]));
    }
    for (std::string& column : texts_) {
      statement_.exchange(soci::into(column));
    }
    for (const std::string& value : bound_) {
      statement_.exchange(soci::use(value));
    }
    statement_.alloc();
    statement_.prepare(text.str(), kOnce);
    statement_.define_and_bind();
    statement_.execute(false);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  [[nodiscard]] bool next() { return statement_.fetch(); }
  [[nodiscard]] std::int64_t number(std::size_t column) const { return numbers_.at(column); }
  [[nodiscard]] std::int32_t small(std::size_t column) const {
    return static_cast<std::int32_t>(number(column));
  }
  [[nodiscard]] UtcTime time(std::size_t column) const { return fromMillis(number(column)); }
  [[nodiscard]] bool isNull(std::size_t column) const { return nulls_.at(column) == soci::i_null; }
  [[nodiscard]] std::optional<UtcTime> optionalTime(std::size_t column) const {
    return isNull(column) ? std::nullopt : std::optional(time(column));
  }
  [[nodiscard]] const std::string& text(std::size_t column) const { return texts_.at(column); }

 private:
  std::array<long long, Numbers> numbers_{};
  std::array<soci::indicator, Numbers> nulls_{};
  std::array<std::string, Texts> texts_;
  std::vector<std::string> bound_;
  soci::statement statement_;
};

}  // namespace sluice::sql
