// The catalogue of contract cases; see cases.h.
#include "contract/cases.h"

#include <algorithm>
#include <cctype>

namespace sluice::test {
namespace {

constexpr ContractCase kQueue[] = {
    {"Q01", "every field of an admission arrives"},
    {"Q02", "foreign bytes of every value are kept to the byte"},
    {"Q03", "foreign text, empty or in any script, is kept to the byte"},
    {"Q04", "entries of every size are taken or cut as said, and the link stays well"},
    {"Q05", "two queues on one server never mix; odd names work or are refused"},
    {"Q06", "many processes open one queue at once: one topology, nothing lost"},
    {"Q07", "an object of another kind in its place is refused by name and left alone"},
    {"Q08", "what was published before any consumer came is delivered"},
    {"Q09", "waiting on an empty queue ends at the deadline and costs nothing"},
    {"Q10", "a waiting receive wakes up for a message from another process"},
    {"Q11", "never more than asked for; a partial batch comes at once"},
    {"Q12", "competing consumers get each message once; a stalled one stops nobody"},
    {"Q13", "one consumer sees the order of publishing"},
    {"Q14", "first deliveries to a slot keep the order, also when another process dies"},
    {"Q15", "a message that was sent back loses its place; the others keep their order"},
    {"Q16", "what is out does not come again by itself, and a receive takes no more than its batch"},
    {"Q17", "one huge publish comes whole"},
    {"Q18", "settled messages are forgotten, also after closing and opening"},
    {"Q19", "any subset is settled in any order; exactly the rest comes back"},
    {"Q20", "stale, double and unknown tokens are harmless"},
    {"Q21", "a token from before a reconnect settles no other message"},
    {"Q22", "a settlement after take-over is stale; the new holder's counts"},
    {"Q23", "sent back at once, it comes with one more delivery"},
    {"Q24", "a delayed retry comes neither early nor late, others flow meanwhile"},
    {"Q25", "what always fails comes at growing, jittered pauses, then is dead"},
    {"Q26", "deaths count as deliveries, failures as failures, an absent store as neither"},
    {"Q27", "a message that kills its process is dead in the end, its neighbours are not"},
    {"Q28", "bytes that do not decode are dead letters and stop nobody"},
    {"Q29", "a dead letter tells its whole story"},
    {"Q30", "killed while it puts a message aside, the message is in the queue or among the dead"},
    {"Q31", "replay keeps the admission and starts anew; a full list of dead blocks, never drops"},
    {"Q32", "what a killed process held reaches another within the bound"},
    {"Q33", "a process frozen beyond its lease does no harm when it wakes"},
    {"Q34", "an extended lease is no second delivery"},
    {"Q35", "a restarted process gets its own first, without waiting"},
    {"Q36", "the record of a process that owns messages is not thrown away"},
    {"Q37", "the server dies while publishing: what was accepted arrives"},
    {"Q38", "the server dies while batches are out: all arrive"},
    {"Q39", "no server at the start: refused by the deadline, fine once it is there"},
    {"Q40", "packets vanish without a word: nobody waits beyond a deadline"},
    {"Q41", "queue or group deleted behind its back: rebuilt, said once, goes on"},
    {"Q42", "the server freezes after the write: unknown by the deadline, one order in the end"},
    {"Q43", "confirms out of order, returns and refusals each reach their message"},
    {"Q44", "full or out of memory: said by the deadline, nothing dropped, goes on by itself"},
    {"Q45", "close ends every wait within a second, and twice is fine"},
    {"Q46", "drain stops deliveries and hands the rest to others at once"},
    {"Q47", "not receiving is the pause: publishing goes on, delivery resumes promptly"},
    {"Q48", "the figures equal the truth behind its back"},
    {"Q49", "wrong password, wrong option, wrong server: refused at the start, no secret told"},
    {"Q50", "many messages and reconnects: memory, descriptors and threads stay flat"},
    {"Q51", "the journal entry's id stays with its message: delivered, retried, dead, replayed"},
};

constexpr ContractCase kStore[] = {
    {"S01", "migrating again changes nothing"},
    {"S02", "many processes migrate at once"},
    {"S03", "upgrades go step by step; a newer schema is refused"},
    {"S04", "batches of every size up to the largest"},
    {"S05", "the same batch three times is decided once"},
    {"S06", "known, new and repeated orders in one batch are each answered exactly"},
    {"S07", "the same id with other content is a conflict and changes nothing"},
    {"S08", "a second order over the limit is rejected, not taken for the first"},
    {"S09", "one malformed row does not take its neighbours along"},
    {"S10", "nothing is bent silently: what does not fit is refused"},
    {"S11", "three different batches in a row are stored exactly as sent"},
    {"S12", "overlapping batches of many workers store each order once"},
    {"S13", "a busy database is asked again, with jitter, then answered as unavailable"},
    {"S14", "a lock that does not come undoes the whole batch"},
    {"S15", "the counts it answers are the truth"},
    {"S16", "a connection that died while idle costs one retry at most"},
    {"S17", "a connection that dies within a transaction leaves nothing half done"},
    {"S18", "a commit without an answer is unknown; repeated, there is one row"},
    {"S19", "the server restarts under load: nothing lost, nothing twice"},
    {"S20", "no server at the start: a bounded wait and a clear error"},
    {"S21", "with every session out a call is answered by its deadline; none leaks"},
    {"S22", "no reader ever sees part of a batch"},
    {"S23", "stock never falls below zero, however many buy"},
    {"S24", "killed at any point, stock sold equals orders stored"},
    {"S25", "the largest ids and numbers are kept exactly"},
    {"S26", "text is kept to the byte; what is no text is refused"},
    {"S27", "times are UTC milliseconds, far ones too"},
    {"S28", "read-only or full: refused by its class, nothing half done, goes on afterwards"},
    {"S29", "errors tell no values and no secrets"},
    {"S30", "many threads and many reopenings leak nothing"},
    {"R1", "one row for each order id, decided once; a refusal is a row"},
    {"R2", "only a dead row is listed for release, and until it is marked"},
    {"R3", "cancelling what has no row leaves the dead row that a later delivery finds"},
    {"R4", "a dead row stays listed over any restart until its hold is released"},
    {"R5", "whatever the status, an order that has a row answers already"},
};

constexpr ContractCase kQualifier[] = {
    {"V01", "each verdict is given where it is due"},
    {"V02", "of two verdicts that apply the earlier in the order wins"},
    {"V03", "in a batch each request sees the ones before it"},
    {"V04", "the same order id again gets its first answer, also after a release"},
    {"V05", "the same idempotency key again gets its first answer; with other content it is refused"},
    {"V06", "an admission, its hold and its journal entry are one step"},
    {"V07", "a full journal is busy and takes no stock"},
    {"V08", "a release counts once, whoever repeats it"},
    {"V09", "load refuses while keys are there; stopped in the middle and repeated it ends right"},
    {"V10", "sync takes only a newer version; repeated it changes nothing"},
    {"V11", "an overwritten counter freezes the sale"},
    {"V12", "keys of a wrong type freeze or refuse, and write nothing"},
    {"V13", "with full memory nobody is admitted, and releases still work"},
    {"V14", "scripts flushed every 100 ms under load make no difference"},
    {"V15", "a clock that differs is not ready, then refuses"},
    {"V16", "a server that lost its data is not trusted until recovered"},
    {"V17", "snapshots, holds and journal pages tell what is there"},
    {"V18", "a lost answer is outcome unknown; asked again it is the same order"},
    {"V19", "many connections at once sell exactly what there is"},
    {"V20", "all keys of a voucher end at one instant"},
    {"V21", "a server that cannot keep the promise is refused by name"},
    {"V22", "after close every call answers Stopped; deadlines bound every call"},
    {"V23", "of several who ask for the forwarder's lease one has it, until it ends or is given up"},
    {"V24", "waiting for the journal ends with an entry or at the deadline, and keeps nobody else waiting"},
    {"V25", "entries that do not decode are put aside to the byte, each in one place"},
};

constexpr ContractCase kTogether[] = {
    {"E1", "killed after the commit and before the settlement: one row"},
    {"E2", "killed before the commit: one row"},
    {"E3", "the store away: fulfilment pauses, nothing is put aside, it goes on by itself"},
    {"E4", "one bad order in a batch: the rest stored, one dead letter with its reason"},
    {"E5", "everything killed in mid-sale: what is left and what is sold add up"},
    {"E6", "every message twice: one row each"},
    {"E7", "ended under load: drained before the deadline"},
    {"E8", "another queue by configuration: the same results"},
};

}  // namespace

std::span<const ContractCase> casesOf(std::string_view contract) {
  if (contract == "queue") return kQueue;
  if (contract == "store") return kStore;
  if (contract == "qualifier") return kQualifier;
  if (contract == "together") return kTogether;
  return {};
}

std::vector<std::string_view> casesInName(std::string_view testName) {
  std::vector<std::string_view> cases;
  while (true) {
    const std::size_t end = testName.find('_');
    if (end == std::string_view::npos || end < 2 || end > 3) return cases;
    const std::string_view id = testName.substr(0, end);
    const auto isDigit = [](unsigned char c) { return std::isdigit(c) != 0; };
    if (!std::isupper(static_cast<unsigned char>(id[0])) || !std::all_of(id.begin() + 1, id.end(), isDigit)) {
      return cases;
    }
    cases.push_back(id);
    testName.remove_prefix(end + 1);
  }
}

}  // namespace sluice::test
