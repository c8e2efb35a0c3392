// One function a subject; each fault names what contradicts what, and what to do.
#include "config/relations.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace sluice {

namespace {

using Strengths = std::map<std::string, std::size_t>;

enum class Reach : std::uint8_t { Loopback, Others, NoAddress };

Reach reachOf(const std::string& address) noexcept {
  in_addr four{};
  in6_addr six{};
  if (address == "localhost") return Reach::Loopback;
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) {
    constexpr std::uint32_t kLoopbackNetwork = 127;
    return (ntohl(four.s_addr) >> 24u) == kLoopbackNetwork ? Reach::Loopback : Reach::Others;
  }
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return Reach::NoAddress;
  return std::memcmp(&six, &in6addr_loopback, sizeof six) == 0 ? Reach::Loopback : Reach::Others;
}

class Relations {
 public:
  Relations(const OptionMap& core, const Strengths& strengths, std::vector<ConfigFault>& faults)
      : core_(core), strengths_(strengths), faults_(faults) {
    for (const ConfigFault& fault : faults) {
      faulty_.insert(fault.key);
    }
  }

  void checkRedis() {
    if (core_.boolean("redis.tls")) {
      refuse(
          "redis.tls",
          "cannot be true: hiredis 0.14 has no TLS; reach Redis through a local tunnel and leave this false");
    }
    const std::string& prefix = core_.text("redis.prefix");
    constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (prefix.empty() || prefix.find_first_not_of(kAllowed) != std::string::npos) {
      refuse("redis.prefix", "must be 1 to 32 letters, digits, '_', '.' or '-'");
    }
    if (core_.boolean("redis.embedded")) {
      return refuseBeside("redis.embedded", "which runs a Redis of its own",
                          {"redis.socket", "redis.host", "redis.port", "redis.username", "redis.password",
                           "redis.password.file", "redis.database"});
    }
    if (!core_.text("redis.socket").empty()) {
      refuseBeside("redis.socket", "which says where Redis is", {"redis.host", "redis.port"});
    }
    if (core_.text("redis.host").empty()) refuse("redis.host", "must not be empty");
    if (!core_.text("redis.username").empty() && core_.text("redis.password").empty()) {
      refuse("redis.username", "needs redis.password, given by SLUICE_REDIS_PASSWORD or redis.password.file");
    }
  }

  void checkRole() {
    const std::string& role = core_.text("role");
    const std::string& queue = core_.text("queue");
    if (queue == "inproc" && role != "all") {
      refuse("role", "cannot be " + role + " with queue = inproc, which lives in one process: " +
                         (role == "front" ? "nobody would fulfil its orders" : "nothing would ever arrive") +
                         "; use role = all or another queue");
    }
    if (queue == "stream" && !core_.boolean("journal")) {
      refuse("journal",
             "cannot be off with queue = stream, which reads the journal; switch it on or use another queue");
    }
    if (core_.integer("fulfilment.deliveries.max") < core_.integer("fulfilment.failures.max")) {
      refuse("fulfilment.deliveries.max",
             "is below fulfilment.failures.max; each failure is a delivery too, so raise it");
    }
    if (core_.duration("fulfilment.retry.max") < core_.duration("fulfilment.retry.base")) {
      refuse("fulfilment.retry.max", "is below fulfilment.retry.base, the pause that it bounds; raise it");
    }
    if (core_.text("data.dir").empty()) refuse("data.dir", "must not be empty");
  }

  void checkAccess() {
    const Reach reach = reachOf(core_.text("http.address"));
    if (reach == Reach::NoAddress)
      refuse("http.address", "must be an IP address such as 127.0.0.1, 0.0.0.0 or ::1, or localhost");
    const bool trustsHeader = core_.text("auth.mode") == "header" && !core_.boolean("auth.header.public");
    if (reach == Reach::Others && trustsHeader) {
      refuse("http.address",
             "can be reached by others, and auth.mode = header would let them order in anybody's name; "
             "listen on 127.0.0.1 behind a "
             "proxy, or set auth.header.public = true where the network lets only the proxy through");
    }
    constexpr std::size_t kTokenBytesMin = 32;
    const std::string& token = core_.text("admin.token");
    if (!token.empty() && token.size() < kTokenBytesMin) {
      refuse(strengths_.contains("admin.token.file") ? "admin.token.file" : "admin.token",
             "is shorter than 32 bytes; make one with: openssl rand -hex 32");
    }
  }

 private:
  void refuse(const std::string& key, std::string text) {
    if (!faulty_.contains(key)) faults_.push_back({key, std::move(text)});
  }

  // Keys that `winner` makes meaningless; in a weaker layer they are left alone, as anything that is
  // overridden.
  void refuseBeside(const std::string& winner, const std::string& why, const std::vector<std::string>& keys) {
    const auto own = strengths_.find(winner);
    for (const std::string& key : keys) {
      const auto other = strengths_.find(key);
      const bool weaker =
          other == strengths_.end() || (own != strengths_.end() && other->second < own->second);
      if (weaker) continue;
      std::string text = "contradicts ";
      text.append(winner).append(", ").append(why).append("; keep one of the two");
      refuse(key, text);
    }
  }

  const OptionMap& core_;
  const Strengths& strengths_;
  std::vector<ConfigFault>& faults_;
  std::set<std::string> faulty_;
};

}  // namespace

void checkRelations(const OptionMap& core, const Strengths& strengths, std::vector<ConfigFault>& faults) {
  Relations relations(core, strengths, faults);
  relations.checkRedis();
  relations.checkRole();
  relations.checkAccess();
}

}  // namespace sluice
