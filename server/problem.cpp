// The tables verdict -> answer and error -> status, and the writer of problems.
#include "problem.h"

#include <array>
#include <string>

#include "json_writer.h"

namespace sluice::server {

const VerdictAnswer& verdictAnswer(Verdict verdict) noexcept {
  static constexpr VerdictAnswer kAdmitted{202, "", "", true, false};
  static constexpr VerdictAnswer kNotFound{404, "NOT_FOUND", "There is no such voucher."};
  static constexpr VerdictAnswer kFrozen{
      503, "FROZEN", "The sale is stopped until an operator has looked at its stock.", false, true};
  static constexpr VerdictAnswer kAlready{409, "ALREADY_ORDERED",
                                          "Your orders have reached the limit of this voucher.", true, false};
  static constexpr VerdictAnswer kPaused{409, "PAUSED", "The sale is paused."};
  static constexpr VerdictAnswer kNotStarted{409, "NOT_STARTED", "The sale has not begun."};
  static constexpr VerdictAnswer kEnded{409, "ENDED", "The sale is over."};
  static constexpr VerdictAnswer kNotEligible{403, "NOT_ELIGIBLE", "This sale is for invited users."};
  static constexpr VerdictAnswer kSoldOut{409, "SOLD_OUT", "Nothing is left."};
  static constexpr VerdictAnswer kInsufficient{409, "INSUFFICIENT",
                                               "Fewer pieces are left than you asked for."};
  static constexpr VerdictAnswer kBusy{
      503, "BUSY", "Too many orders are on their way. Nothing was taken; ask again.", false, true};
  static constexpr VerdictAnswer kKeyReused{422, "IDEMPOTENCY_KEY_REUSED",
                                            "This idempotency key was used with another quantity."};
  static constexpr VerdictAnswer kOverLimit{409, "OVER_LIMIT",
                                            "You asked for more pieces than one user may have."};
  static constexpr VerdictAnswer kUnavailable{
      503, "UNAVAILABLE", "Orders cannot be taken now. Nothing was taken; ask again.", false, true};
  static constexpr VerdictAnswer kUnknown{
      503, "OUTCOME_UNKNOWN",
      "The answer was lost. Ask for the status of this order, or order again with the same "
      "Idempotency-Key.",
      true, true};
  switch (verdict) {
    case Verdict::Admitted:
      return kAdmitted;
    case Verdict::NotFound:
      return kNotFound;
    case Verdict::Frozen:
      return kFrozen;
    case Verdict::AlreadyOrdered:
      return kAlready;
    case Verdict::Paused:
      return kPaused;
    case Verdict::NotStarted:
      return kNotStarted;
    case Verdict::Ended:
      return kEnded;
    case Verdict::NotEligible:
      return kNotEligible;
    case Verdict::SoldOut:
      return kSoldOut;
    case Verdict::Insufficient:
      return kInsufficient;
    case Verdict::Busy:
      return kBusy;
    case Verdict::KeyReused:
      return kKeyReused;
    case Verdict::OverLimit:
      return kOverLimit;
    case Verdict::Unavailable:
      return kUnavailable;
    case Verdict::OutcomeUnknown:
      break;
  }
  return kUnknown;
}

void setProblem(HttpResponse& response, int status, std::string_view code, std::string_view detail,
                OrderId order) {
  response.status = status;
  response.contentType = kProblemType;
  response.body.clear();
  response.body.append(R"({"type":"urn:sluice:problem:)")
      .append(code)
      .append(R"(","title":")")
      .append(reasonPhrase(status));
  response.body.append(R"(","status":)");
  appendNumber(response.body, status);
  response.body.append(R"(,"code":")").append(code).append(R"(","detail":)");
  JsonWriter(response.body).text(detail);
  if (order.valid()) {
    response.body.append(R"(,"orderId":")");
    appendNumber(response.body, order.value());
    response.body += '"';
  }
  response.body += '}';
}

void setProblem(HttpResponse& response, const HttpFault& fault) {
  setProblem(response, fault.status, fault.code, fault.detail);
}

int errorStatus(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
    case ErrorCode::Corrupt:
      return 409;
    case ErrorCode::Unsupported:
      return 501;
    case ErrorCode::Overloaded:
    case ErrorCode::Unavailable:
    case ErrorCode::OutcomeUnknown:
    case ErrorCode::Stopped:
      return 503;
    case ErrorCode::Misconfigured:
    case ErrorCode::Internal:
      break;
  }
  return 500;
}

namespace {

std::string_view generalText(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::Overloaded:
      return "Too much is going on. Nothing was done; ask again.";
    case ErrorCode::Unavailable:
      return "A server behind this one does not answer. Nothing was done; ask again.";
    case ErrorCode::OutcomeUnknown:
      return "The answer was lost: it may have been done. Asking again is safe.";
    case ErrorCode::Stopped:
      return "This server is stopping; ask again.";
    default:
      return "This server could not do it. The log says why.";
  }
}

std::string upperCase(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return upper;
}

}  // namespace

void setError(HttpResponse& response, const Error& error, bool detailed) {
  const ErrorTraits traits = errorTraits(error.code);
  if (traits.mayRetry) response.add("Retry-After", "1");
  const bool shown = (detailed || traits.fault == Fault::Caller) && !error.text.empty();
  setProblem(response, errorStatus(error.code), upperCase(errorName(error.code)),
             shown ? error.text : generalText(error.code));
}

}  // namespace sluice::server
