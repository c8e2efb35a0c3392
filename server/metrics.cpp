// Metric families over prometheus-cpp's core: its data types and its serializer, no registry and no second
// server.
#include "metrics.h"

#include <limits>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace sluice::server {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanoseconds = 1e-9;  // to seconds, Prometheus' unit of time

class Page {
 public:
  void counter(const char* name, const char* help, std::uint64_t value) {
    ClientMetric metric;
    metric.counter.value = static_cast<double>(value);
    family(name, help, MetricType::Counter).metric.push_back(std::move(metric));
  }
  void gauge(const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.gauge.value = value;
    family(name, help, MetricType::Gauge).metric.push_back(std::move(metric));
  }
  void labelled(const char* label, std::string_view labelValue, std::uint64_t value) {
    ClientMetric metric;
    metric.label.push_back({label, std::string(labelValue)});
    metric.counter.value = static_cast<double>(value);
    families_.back().metric.push_back(std::move(metric));
  }
  void histogram(const char* name, const char* help, const HistogramSnapshot& snapshot, double scale) {
    ClientMetric metric;
    metric.histogram.sample_count = snapshot.count;
    metric.histogram.sample_sum = static_cast<double>(snapshot.sum) * scale;
    std::uint64_t below = 0;
    for (std::size_t k = 0; k < snapshot.counts.size(); ++k) {
      below += snapshot.counts[k];
      const bool last = k >= snapshot.upperBounds.size();
      const double bound = last ? std::numeric_limits<double>::infinity()
                                : static_cast<double>(snapshot.upperBounds[k]) * scale;
      metric.histogram.bucket.push_back({below, bound});
    }
    family(name, help, MetricType::Histogram).metric.push_back(std::move(metric));
  }
  MetricFamily& family(const char* name, const char* help, MetricType type) {
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
    return families_.back();
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

void addGate(Page& page, const EngineStats& engine) {
  page.family("sluice_verdicts_total", "Answers to orders, by verdict", MetricType::Counter);
  for (std::size_t k = 0; k < std::size(kVerdicts) && k < engine.verdicts.size(); ++k) {
    page.labelled("verdict", verdictName(kVerdicts[k]), engine.verdicts[k]);
  }
  page.gauge("sluice_requests_in_flight", "Orders at the gate", static_cast<double>(engine.inFlight));
  page.histogram("sluice_qualify_batch_size", "Orders decided by one call of the script", engine.batchSizes,
                 1);
  page.histogram("sluice_qualify_seconds", "Time of one call of the script", engine.scriptNanoseconds,
                 kNanoseconds);
  page.counter("sluice_qualify_errors_total", "Calls of the script without an answer",
               engine.qualifier.errors);
  page.counter("sluice_redis_reconnects_total", "New connections to Redis after the first ones",
               engine.qualifier.reconnects);
  page.gauge("sluice_redis_clock_skew_seconds", "Clock of Redis minus ours",
             static_cast<double>(engine.health.clockSkew.count()) / 1e3);
  page.gauge("sluice_redis_memory_bytes", "Memory that Redis uses",
             static_cast<double>(engine.health.usedMemoryBytes));
  page.gauge("sluice_journal_entries", "Admissions in the journal",
             static_cast<double>(engine.health.journalDepth));
}

void addForwarder(Page& page, const ForwarderStats& forwarder) {
  if (!forwarder.runs) return;
  page.gauge("sluice_forwarder_leads", "1 where this process moves the journal into the queue",
             forwarder.leads ? 1 : 0);
  page.counter("sluice_forwarder_forwarded_total", "Messages moved from the journal into the queue",
               forwarder.forwarded);
  page.counter("sluice_forwarder_rereads_total", "Times the journal was read from its start",
               forwarder.rereads);
  page.counter("sluice_forwarder_set_aside_total", "Journal entries that nobody could decode",
               forwarder.setAside);
  page.gauge("sluice_forwarder_paused", "1 while nothing can be moved", forwarder.pausedWhy.empty() ? 0 : 1);
  page.gauge("sluice_journal_oldest_age_seconds", "Age of the oldest journal entry that waits for its row",
             static_cast<double>(forwarder.oldestAge.count()) / 1e3);
}

void addQueue(Page& page, const QueueStats& queue) {
  page.gauge("sluice_queue_ready", "Messages that wait for delivery", static_cast<double>(queue.ready));
  page.gauge("sluice_queue_in_flight", "Messages delivered and not settled",
             static_cast<double>(queue.inFlight));
  page.gauge("sluice_queue_dead_letters", "Messages put aside", static_cast<double>(queue.deadLetters));
  page.gauge("sluice_queue_dead_letters_max",
             "Messages put aside that the queue keeps; beyond it fulfilment waits",
             static_cast<double>(queue.deadMax));
  page.gauge("sluice_queue_oldest_age_seconds", "Age of the oldest message not settled",
             static_cast<double>(queue.oldestAge.count()) / 1e3);
  page.counter("sluice_queue_redelivered_total", "Deliveries after the first", queue.redelivered);
  page.counter("sluice_queue_dead_lettered_total", "Messages put aside since start", queue.deadLettered);
  page.counter("sluice_queue_reconnects_total", "Connections to the queue after the first", queue.reconnects);
  page.counter("sluice_queue_data_lost_total", "Times the queue was found gone", queue.dataLost);
}

void addFulfilment(Page& page, const EngineStats& engine) {
  page.family("sluice_fulfilled_total", "Orders decided by fulfilment, by outcome", MetricType::Counter);
  page.labelled("outcome", "stored", engine.stored);
  page.labelled("outcome", "rejected", engine.rejected);
  page.labelled("outcome", "already", engine.already);
  page.labelled("outcome", "dead_lettered", engine.deadLettered);
  page.labelled("outcome", "retried", engine.retried);
  page.counter("sluice_released_total", "Holds given back", engine.released);
  page.counter("sluice_expired_total", "Orders cancelled because unpaid", engine.expired);
  page.gauge("sluice_fulfilment_paused", "1 while fulfilment waits for the store", engine.paused ? 1 : 0);
  page.gauge("sluice_fulfilment_alarmed", "1 while it waits for an operator", engine.alarmed ? 1 : 0);
  page.histogram("sluice_store_seconds", "Time of one transaction of the store", engine.storeNanoseconds,
                 kNanoseconds);
  page.histogram("sluice_store_batch_size", "Orders in one transaction", engine.storeBatchSizes, 1);
}

void addHttp(Page& page, const FrontStats& front, const AnswerCounts& answers) {
  page.gauge("sluice_http_connections", "Open connections", static_cast<double>(front.connections));
  page.gauge("sluice_http_connections_waiting", "Connections that wait for a thread",
             static_cast<double>(front.waiting));
  page.counter("sluice_http_accepted_total", "Connections accepted", front.accepted);
  page.counter("sluice_http_requests_total", "Requests understood", front.requests);
  page.counter("sluice_http_refused_total", "Requests refused before a handler saw them", front.refused);
  page.counter("sluice_http_timed_out_total", "Requests that did not arrive whole in time", front.timedOut);
  page.family("sluice_http_answers_total", "Answers, by class of status", MetricType::Counter);
  constexpr std::string_view kClasses[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t k = 0; k < std::size(kClasses); ++k)
    page.labelled("class", kClasses[k], answers.byClass[k]);
}

}  // namespace

std::string metricsText(const EngineStats& engine, const Readiness& readiness, const FrontStats& front,
                        const AnswerCounts& answers) {
  Page page;
  page.gauge("sluice_ready", "1 while orders are taken", readiness.ready ? 1 : 0);
  page.gauge("sluice_durability_level", "0 memory, 1 synced every second, 2 synced before the answer",
             static_cast<double>(readiness.durability));
  addGate(page, engine);
  addForwarder(page, engine.forwarder);
  addQueue(page, engine.queue);
  addFulfilment(page, engine);
  addHttp(page, front, answers);
  return page.text();
}

}  // namespace sluice::server
