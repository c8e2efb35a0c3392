// The strict reader of flat JSON objects: one pass, no recursion.
#include "json_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::server {

namespace {

constexpr std::size_t kListMax =
    5000;  // more strings than 64 KiB of body can hold with content worth reading

class Reader {
 public:
  Reader(std::string_view text, std::span<JsonField> fields) : text_(text), fields_(fields) {}

  std::optional<std::string> read() {
    if (readObject() && checkRequired()) return std::nullopt;
    return std::move(fault_);
  }

 private:
  bool fail(std::string_view what) {
    if (!fault_) fault_ = std::string(what) + " (at byte " + std::to_string(at_ + 1) + ")";
    return false;
  }
  bool failField(const JsonField& field, std::string_view what) {
    fault_ = std::string(field.name).append(" ").append(what);
    return false;
  }

  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skipBlanks() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      ++at_;
  }

  // Takes one punctuation character with the blanks around it.
  bool take(char wanted) noexcept {
    skipBlanks();
    if (peek() != wanted) return false;
    ++at_;
    skipBlanks();
    return true;
  }

  bool readObject() {
    if (!take('{')) return fail("the body must be one JSON object in UTF-8, without a byte order mark");
    if (!take('}')) {
      do {
        if (!readMember()) return false;
      } while (take(','));
      if (!take('}')) return fail("expected ',' or '}'");
    }
    return at_ == text_.size() || fail("nothing may follow the object");
  }

  bool readMember() {
    std::string name;
    if (peek() != '"') return fail("expected a member name in double quotes");
    if (!readString(name)) return false;
    if (!take(':')) return fail("expected ':'");
    const auto field =
        std::find_if(fields_.begin(), fields_.end(), [&](const JsonField& f) { return f.name == name; });
    if (field == fields_.end()) return fail(unknownMember());
    if (field->present) return failField(*field, "must not come twice");
    field->present = true;
    return readValue(*field);
  }

  std::string unknownMember() const {
    if (fields_.empty()) return "unknown member; the object must be empty";
    std::string known = "unknown member; known are";
    for (const JsonField& field : fields_)
      known.append(&field == fields_.data() ? " " : ", ").append(field.name);
    return known;
  }

  bool readValue(JsonField& field) {
    switch (field.kind) {
      case JsonKind::String:
        if (peek() != '"') return failField(field, "must be a string");
        return readString(field.text);
      case JsonKind::Integer:
        return readInteger(field);
      case JsonKind::Boolean:
        return readBoolean(field);
      case JsonKind::StringList:
        break;
    }
    return readList(field);
  }

  bool readBoolean(JsonField& field) {
    constexpr std::string_view kTrue = "true";
    constexpr std::string_view kFalse = "false";
    field.flag = text_.substr(at_, kTrue.size()) == kTrue;
    if (!field.flag && text_.substr(at_, kFalse.size()) != kFalse)
      return failField(field, "must be true or false");
    at_ += field.flag ? kTrue.size() : kFalse.size();
    return true;
  }

  // 0, or a digit 1 to 9 and more digits, with '-' before any but 0.
  bool readInteger(JsonField& field) {
    constexpr std::string_view kRule = "must be a whole number without fraction, exponent or leading zero";
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    const std::size_t digits = at_;
    while (peek() >= '0' && peek() <= '9')
      ++at_;
    const std::size_t count = at_ - digits;
    const bool zeroFirst = count > 0 && text_[digits] == '0' && (count > 1 || digits != start);
    if (count == 0 || zeroFirst || peek() == '.' || peek() == 'e' || peek() == 'E')
      return failField(field, kRule);
    const auto result = std::from_chars(text_.data() + start, text_.data() + at_, field.number);
    return result.ec == std::errc() || failField(field, "does not fit 64 bits");
  }

  bool readList(JsonField& field) {
    if (!take('[')) return failField(field, "must be a list of strings");
    if (take(']')) return true;
    do {
      if (peek() != '"') return failField(field, "must be a list of strings");
      if (field.list.size() == kListMax) return failField(field, "has too many elements");
      if (!readString(field.list.emplace_back())) return false;
    } while (take(','));
    return take(']') || fail("expected ',' or ']'");
  }

  bool readString(std::string& out) {
    for (++at_; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (!(c == '\\' ? readEscape(out) : readCharacter(out))) return false;
    }
    return fail("a string does not end");
  }

  // One character of valid UTF-8: no overlong form, no surrogate, nothing above U+10FFFF, no raw control
  // character.
  bool readCharacter(std::string& out) {
    const auto lead = static_cast<unsigned char>(text_[at_]);
    if (lead < 0x20 || lead == 0x7F) return fail("control characters must be escaped");
    const std::size_t extra = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || at_ + extra >= text_.size())
      return fail("not valid UTF-8");
    std::uint32_t point = extra == 0 ? lead : lead & (0x3Fu >> extra);
    for (std::size_t k = 1; k <= extra; ++k) {
      const auto next = static_cast<unsigned char>(text_[at_ + k]);
      if ((next & 0xC0u) != 0x80) return fail("not valid UTF-8");
      point = (point << 6u) | (next & 0x3Fu);
    }
    constexpr std::array<std::uint32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[extra] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
      return fail("not valid UTF-8");
    out.append(text_.substr(at_, extra + 1));
    at_ += extra + 1;
    return true;
  }

  bool readEscape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    ++at_;
    if (peek() == 'u') return readUnicodeEscape(out);
    const std::size_t which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) return fail("unknown escape");
    out += kMeant[which];
    ++at_;
    return true;
  }

  // Four hexadecimal digits behind 'u', at which at_ stands.
  bool readHex(std::uint32_t& unit) {
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
      return fail("\\u needs four hexadecimal digits");
    at_ += 5;
    return true;
  }

  bool readUnicodeEscape(std::string& out) {
    std::uint32_t point = 0;
    if (!readHex(point)) return false;
    if (point == 0) return fail("\\u0000 is refused");
    if (point >= 0xDC00 && point <= 0xDFFF) return fail("half of a surrogate pair");
    if (point >= 0xD800 && point <= 0xDBFF) {
      std::uint32_t low = 0;
      if (text_.substr(at_, 2) != "\\u") return fail("half of a surrogate pair");
      ++at_;
      if (!readHex(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return fail("half of a surrogate pair");
      point = 0x10000 + ((point - 0xD800) << 10u) + (low - 0xDC00);
    }
    appendUtf8(point, out);
    return true;
  }

  static void appendUtf8(std::uint32_t point, std::string& out) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    const auto tail = [&](std::uint32_t shift) { put(0x80u | ((point >> shift) & 0x3Fu)); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
      put(0xC0u | (point >> 6u));
    } else if (point < 0x10000) {
      put(0xE0u | (point >> 12u));
      tail(6);
    } else {
      put(0xF0u | (point >> 18u));
      tail(12);
      tail(6);
    }
    tail(0);
  }

  bool checkRequired() {
    for (const JsonField& field : fields_) {
      if (field.required && !field.present) return failField(field, "is missing");
    }
    return true;
  }

  std::string_view text_;
  std::span<JsonField> fields_;
  std::size_t at_ = 0;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> readJsonObject(std::string_view text, std::span<JsonField> fields) {
  return Reader(text, fields).read();
}

}  // namespace sluice::server
