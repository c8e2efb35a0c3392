// See statement.h.
#include "statement.h"

#include <charconv>

namespace sluice::sql {

Text& Text::operator<<(std::int64_t number) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text_.append(digits.data(), end);
  return *this;
}

std::int64_t execute(Session& session, const Text& text, std::initializer_list<std::string_view> texts) {
  const std::vector<std::string> bound(texts.begin(), texts.end());
  soci::statement statement(session.soci);
  for (const std::string& value : bound) {
    statement.exchange(soci::use(value));
  }
  statement.alloc();
  statement.prepare(text.str(), kOnce);
  statement.define_and_bind();
  statement.execute(true);
  return statement.get_affected_rows();
}

}  // namespace sluice::sql
