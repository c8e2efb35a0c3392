// Refusals as `application/problem+json`, and the two tables that say which status and code an outcome has.
//
// Shape:  {"type","title","status","code","detail"}, sometimes "orderId". Programs read `code`, which never
// changes; people read
//         `detail`, which may.
// Note:   a detail never holds what the client sent, a stack, a host name or a key.
#pragma once

#include <string_view>

#include "sluice/ids.h"
#include "sluice/result.h"
#include "sluice/verdict.h"

#include "http_message.h"

namespace sluice::server {

// How a verdict is answered over HTTP. Static texts.
struct VerdictAnswer {
  int status = 503;
  std::string_view code;  // "SOLD_OUT"; empty for Admitted
  std::string_view detail;
  bool withOrder = false;   // the answer names an order id
  bool retryAfter = false;  // with the header Retry-After: 1
};

[[nodiscard]] const VerdictAnswer& verdictAnswer(Verdict verdict) noexcept;

// Fills the answer with a problem. Keeps headers that were added before.
void setProblem(HttpResponse& response, int status, std::string_view code, std::string_view detail,
                OrderId order = {});
void setProblem(HttpResponse& response, const HttpFault& fault);

// How an error of the operations is answered. Callers' faults carry their text; of others `detailed`
// (operators only) decides whether the text is shown or a general one.
void setError(HttpResponse& response, const Error& error, bool detailed);

[[nodiscard]] int errorStatus(ErrorCode code) noexcept;

}  // namespace sluice::server
