// Expected failures as values: Error, its codes, and Result<T>.
//
// Role:     every call of Qualifier, OrderQueue and OrderStore, and everything on the data path, answers
//           with a Result.
// Threads:  plain values.
// Errors:   the code answers the caller's three questions (see errorTraits): may it have happened, may I
//           retry, whose fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice {

enum class ErrorCode : std::uint8_t {
  InvalidArgument,  // the caller's input is wrong
  NotFound,         // the thing named does not exist
  Conflict,         // it exists, but with other content or in a state that forbids the call
  Unsupported,      // a capability that this implementation does not claim
  Overloaded,       // a cap was reached; nothing was done
  Unavailable,      // the server behind it cannot be reached or refuses; nothing was done
  OutcomeUnknown,   // sent, but no trustworthy answer: it may have happened; ask again with the same id
  Corrupt,          // stored or queued bytes do not parse
  Misconfigured,    // an operator must act: wrong schema, password, topology, unknown voucher in the store
  Stopped,          // the object is stopping or closed
  Internal          // a defect of ours, seen in time
};

enum class Fault : std::uint8_t { Caller, Dependency, Operator, Ours };

struct ErrorTraits {
  bool mayHaveHappened;
  bool mayRetry;
  Fault fault;
};

[[nodiscard]] constexpr ErrorTraits errorTraits(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::NotFound:
    case ErrorCode::Conflict:
      return {false, false, Fault::Caller};
    case ErrorCode::Unsupported:
    case ErrorCode::Misconfigured:
      return {false, false, Fault::Operator};
    case ErrorCode::Overloaded:
      return {false, true, Fault::Ours};
    case ErrorCode::Unavailable:
      return {false, true, Fault::Dependency};
    case ErrorCode::OutcomeUnknown:
      return {true, true, Fault::Dependency};
    case ErrorCode::Corrupt:
      return {false, false, Fault::Dependency};
    case ErrorCode::Stopped:
      return {false, true, Fault::Ours};
    case ErrorCode::Internal:
      break;
  }
  return {true, false, Fault::Ours};
}

// "unavailable", "outcome_unknown", ... for logs and JSON. The text is static.
[[nodiscard]] std::string_view errorName(ErrorCode code) noexcept;

// What went wrong, for people: `text` names what is wrong and what would be right; never a secret, never row
// values.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string text;

  // The same error, with what was being done in front: "open store: cannot reach ...".
  [[nodiscard]] Error during(std::string_view doing) const {
    return {code, std::string(doing) + ": " + text};
  }
};

// A value or an Error. Reading the wrong side is a defect of the caller and throws std::bad_variant_access.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that `return value;` and `return error;` read as they are meant.
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  Result(ErrorCode code, std::string text) : state_(std::in_place_index<1>, Error{code, std::move(text)}) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  // Moves the value out: `auto rows = std::move(result).take();`
  [[nodiscard]] T take() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): implicit, so that `return error;` reads as it is meant
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  Result(ErrorCode code, std::string text) : error_{code, std::move(text)}, ok_(false) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  [[nodiscard]] const Error& error() const& { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace sluice
