// Liveness says that answers are given at all; readiness says whether orders are taken, and if not, why.
#include "health_handlers.h"

#include "json_writer.h"
#include "metrics.h"

namespace sluice::server {

namespace {

void writeTexts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).beginList();
  for (const std::string& text : texts)
    json.text(text);
  json.endList();
}

void writeReadiness(const Readiness& readiness, HttpResponse& response) {
  response.status = readiness.ready ? 200 : 503;
  JsonWriter json(response.body);
  json.beginObject()
      .flag("ready", readiness.ready)
      .member("durability", durabilityName(readiness.durability));
  if (!readiness.forwarder.empty()) json.member("forwarder", readiness.forwarder);
  writeTexts(json, "reasons", readiness.reasons);
  writeTexts(json, "warnings", readiness.warnings);
  json.endObject();
}

}  // namespace

void addHealthRoutes(RouteList& list, Engine& engine, const Service& service) {
  list.add(Method::Get, "/healthz", Access::Anyone, 0,
           [](Call& call) { call.response.body = R"({"alive":true})"; });
  list.add(Method::Get, "/readyz", Access::Anyone, 0,
           [&engine](Call& call) { writeReadiness(engine.readiness(), call.response); });
  list.add(Method::Get, "/metrics", Access::Anyone, 0, [&engine, &service](Call& call) {
    call.response.contentType = kMetricsType;
    call.response.body =
        metricsText(engine.stats(), engine.readiness(), service.frontStats(), service.answerCounts());
  });
}

}  // namespace sluice::server
