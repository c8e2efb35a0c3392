// See sale.h.
#include "fault/sale.h"

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace sluice::test {
namespace {

Attempt attemptOf(const ServerProcess& server, std::int64_t voucher, std::int64_t user) {
  const HttpReply reply = server.order(voucher, user);
  return {user, reply.status, jsonMember(reply.body, "code"), jsonMember(reply.body, "orderId")};
}

// 0 .. count - 1, from several threads.
template <typename Work>
void forEach(std::size_t count, int threads, Work work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (int k = 0; k < threads; ++k) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) {
        work(at);
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
}

Attempt askOneAgain(const ServerProcess& server, std::int64_t voucher, const Attempt& before,
                    milliseconds wait) {
  Attempt now;
  std::set<std::string> told = {before.order};
  EXPECT_TRUE(ServerProcess::eventually(wait,
                                        [&] {
                                          now = attemptOf(server, voucher, before.user);
                                          if (now.code == "OUTCOME_UNKNOWN") told.insert(now.order);
                                          return now.status != 503 && now.status != 0;
                                        }))
      << now.status << " " << now.code;
  const bool had = now.status == 409 && now.code == "ALREADY_ORDERED";
  EXPECT_TRUE(now.status == 202 || had) << now.status << " " << now.code;
  if (had && before.status != 0) {
    EXPECT_EQ(told.count(now.order), 1U)
        << "told " << before.code << " " << before.order << ", and had " << now.order;
  }
  return now;
}

}  // namespace

std::vector<Attempt> storm(const ServerProcess& server, std::int64_t voucher, std::int64_t first, int count,
                           int threads) {
  std::vector<Attempt> attempts(static_cast<std::size_t>(count));
  forEach(attempts.size(), threads, [&](std::size_t at) {
    attempts[at] = attemptOf(server, voucher, first + static_cast<std::int64_t>(at));
  });
  return attempts;
}

std::vector<Attempt> admitted(const std::vector<Attempt>& attempts) {
  std::vector<Attempt> winners;
  for (const Attempt& attempt : attempts) {
    if (attempt.status == 202) winners.push_back(attempt);
  }
  return winners;
}

int countCode(const std::vector<Attempt>& attempts, const std::string& code) {
  int found = 0;
  for (const Attempt& attempt : attempts) {
    found += attempt.code == code ? 1 : 0;
  }
  return found;
}

void expectHonest(const std::vector<Attempt>& attempts) {
  std::map<std::string, int> lies;
  for (const Attempt& attempt : attempts) {
    const bool admitted = attempt.status == 202;
    const bool refused = attempt.status == 503 && (attempt.code == "UNAVAILABLE" || attempt.code == "BUSY");
    const bool unknown = attempt.status == 503 && attempt.code == "OUTCOME_UNKNOWN" && !attempt.order.empty();
    if (!admitted && !refused && !unknown) ++lies[std::to_string(attempt.status) + " " + attempt.code];
  }
  EXPECT_TRUE(lies.empty()) << testing::PrintToString(lies);
}

std::vector<Attempt> askAgain(const ServerProcess& server, std::int64_t voucher,
                              const std::vector<Attempt>& attempts, milliseconds wait) {
  std::vector<Attempt> winners(attempts.size());
  forEach(attempts.size(), 16, [&](std::size_t at) {
    winners[at] =
        attempts[at].status == 202 ? attempts[at] : askOneAgain(server, voucher, attempts[at], wait);
  });
  return winners;
}

namespace {

template <typename Row>
void query(const std::string& databaseFile, const std::string& sql, Row row) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(databaseFile.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    sqlite3_close(database);
    throw std::runtime_error("cannot open " + databaseFile);
  }
  sqlite3_busy_timeout(database, 5000);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(database);
    sqlite3_close(database);
    throw std::runtime_error(sql + ": " + why);
  }
  while (sqlite3_step(statement) == SQLITE_ROW) {
    row(sqlite3_column_int64(statement, 0));
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

}  // namespace

std::map<std::string, int> rowsById(const std::string& databaseFile) {
  std::map<std::string, int> rows;
  query(databaseFile, "SELECT id FROM orders", [&](std::int64_t id) { ++rows[std::to_string(id)]; });
  return rows;
}

std::int64_t queryNumber(const std::string& databaseFile, const std::string& sql) {
  std::int64_t number = -1;
  query(databaseFile, sql, [&](std::int64_t value) { number = value; });
  return number;
}

double metric(const ServerProcess& server, const std::string& name) {
  const std::string page = server.get("/metrics").body;
  const std::size_t at = page.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
}

bool canBeWritten(const std::string& databaseFile) {
  sqlite3* database = nullptr;
  sqlite3_open_v2(databaseFile.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_busy_timeout(database, 500);
  const bool begun = sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(database);
  return begun;
}

void expectOneRowEach(const ServerProcess& server, const std::vector<Attempt>& admittedAttempts,
                      milliseconds wait) {
  const std::string file = server.dataDir() + "/sluice.db";
  std::map<std::string, int> rows;
  const auto allThere = [&] {
    rows = rowsById(file);
    for (const Attempt& attempt : admittedAttempts) {
      if (rows.count(attempt.order) == 0) return false;
    }
    return true;
  };
  EXPECT_TRUE(ServerProcess::eventually(wait, allThere));
  std::size_t missing = 0;
  for (const Attempt& attempt : admittedAttempts) {
    missing += rows[attempt.order] == 1 ? 0u : 1u;
  }
  EXPECT_EQ(missing, 0u) << "of " << admittedAttempts.size()
                         << " admitted orders do not have exactly one row";
}

void expectCleanAudit(const ServerProcess& server) {
  ServerProcess::CommandResult audit;
  const auto atRest = [&] {
    audit = server.command({"audit", "--json"});
    return audit.exitCode == 0 && jsonMember(audit.output, "atRest") == "true";
  };
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(30000), atRest)) << audit.output;
}

void expectOrdersFlowAgain(const ServerProcess& server, std::int64_t voucher, std::int64_t user,
                           milliseconds wait) {
  HttpReply reply;
  EXPECT_TRUE(ServerProcess::eventually(wait,
                                        [&] {
                                          reply = server.order(voucher, user);
                                          return reply.status == 202;
                                        }))
      << reply.status << " " << reply.body;
  Attempt last;
  last.order = jsonMember(reply.body, "orderId");
  expectOneRowEach(server, {last}, wait);
}

}  // namespace sluice::test
