// What fault tests share: a storm of buyers with their own log of answers, and a look at the rows behind
// everybody's back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/server_process.h"

namespace sluice::test {

// One buyer's attempt, as the buyer saw it.
struct Attempt {
  std::int64_t user = 0;
  int status = 0;     // 0: no answer
  std::string code;   // of a problem, e.g. SOLD_OUT
  std::string order;  // id, where the answer names one
};

// Buyers `first` .. `first + count - 1`, each once, from `threads` threads at a time.
std::vector<Attempt> storm(const ServerProcess& server, std::int64_t voucher, std::int64_t first, int count,
                           int threads = 16);

// Attempts that were answered 202.
std::vector<Attempt> admitted(const std::vector<Attempt>& attempts);
int countCode(const std::vector<Attempt>& attempts, const std::string& code);

// Each was answered, and by the truth of a time of trouble: admitted, nothing was taken, or unknown with an id.
// Never sold out, never not found. For vouchers with stock for all.
void expectHonest(const std::vector<Attempt>& attempts);
// Who was not admitted asks again, until there is an answer: he is admitted now, or learns that he was, and
// that under the id that he was told, and only if it had been unknown. Answers everybody's admission.
std::vector<Attempt> askAgain(const ServerProcess& server, std::int64_t voucher,
                              const std::vector<Attempt>& attempts, milliseconds wait);

// order id -> number of rows, straight from the database file.
std::map<std::string, int> rowsById(const std::string& databaseFile);
std::int64_t queryNumber(const std::string& databaseFile, const std::string& sql);

// Whether nobody holds the file locked for writing for longer than half a second.
bool canBeWritten(const std::string& databaseFile);

// The value of a metric without labels; -1 where the page has none.
double metric(const ServerProcess& server, const std::string& name);

// Each admitted id has exactly one row; waits for it at most `wait`.
void expectOneRowEach(const ServerProcess& server, const std::vector<Attempt>& admittedAttempts,
                      milliseconds wait);
// The audit finds nothing and nothing is on its way.
void expectCleanAudit(const ServerProcess& server);
// Buyer `user` gets an order of voucher `voucher` within `wait`: the sale goes on.
void expectOrdersFlowAgain(const ServerProcess& server, std::int64_t voucher, std::int64_t user,
                           milliseconds wait);

}  // namespace sluice::test
