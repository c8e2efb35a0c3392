// The plain values: what parses, what does not, what survives a round trip.
#include <gtest/gtest.h>

#include "sluice/limits.h"
#include "sluice/order.h"
#include "sluice/verdict.h"
#include "sluice/voucher.h"

#include "support/manual_clock.h"

namespace sluice {
namespace {

TEST(Ids, ReadOnlyPlainDecimalNumbers) {
  EXPECT_EQ(parsePositive("1"), 1);
  EXPECT_EQ(parsePositive("9223372036854775807"), 9223372036854775807);
  for (const char* wrong :
       {"", "0", "-1", "+1", " 1", "1 ", "01", "1.0", "1e3", "0x1", "1,000", "9223372036854775808", "１"}) {
    EXPECT_EQ(parsePositive(wrong), std::nullopt) << wrong;
  }
}

TEST(Ids, OfTheJournalReadOnlyWhatRedisWrites) {
  const JournalId last{18446744073709551615U, 18446744073709551615U};
  EXPECT_EQ(parseJournalId("18446744073709551615-18446744073709551615"), last);
  EXPECT_EQ(parseJournalId(last.text()), last);
  EXPECT_EQ(parseJournalId("0-0"), JournalId());
  EXPECT_FALSE(JournalId().valid());
  EXPECT_LT((JournalId{1, 9}), (JournalId{2, 0}));
  for (const char* wrong :
       {"", "1", "1-", "-1", "1-2-3", " 1-2", "1-2 ", "1--2", "+1-2", "18446744073709551616-0"}) {
    EXPECT_EQ(parseJournalId(wrong), std::nullopt) << wrong;
  }
}

TEST(AdmissionEntry, SurvivesARoundTrip) {
  const Admission admission{OrderId(9223372036854775807), UserId(2), VoucherId(3), 1000,
                            fromMillis(1767225600123)};
  EXPECT_EQ(encodeAdmission(admission), "1 9223372036854775807 2 3 1000 1767225600123");
  EXPECT_EQ(decodeAdmission(encodeAdmission(admission)).value(), admission);
}

TEST(AdmissionEntry, RefusesEverythingElseWithAReason) {
  for (const std::string& wrong :
       {std::string(), std::string("2 1 2 3 4 5"), std::string("1 1 2 3 4"), std::string("1 1 2 3 4 5 6"),
        std::string("1 1 2 3 0 5"), std::string("1 1 2 3 1001 5"), std::string("1 1 2  3 4 5"),
        std::string("1 1 2 3 4 5 "), std::string(4096, '1'), std::string("1 1 2 3 4 5\0", 12)}) {
    const auto decoded = decodeAdmission(wrong);
    ASSERT_FALSE(decoded.ok()) << wrong;
    EXPECT_EQ(decoded.error().code, ErrorCode::Corrupt);
    EXPECT_FALSE(decoded.error().text.empty());
  }
}

TEST(Verdicts, KeepTheirNumbersAndHaveDistinctNames) {
  EXPECT_EQ(static_cast<int>(Verdict::Admitted), 0);
  EXPECT_EQ(static_cast<int>(Verdict::SoldOut), 8);
  EXPECT_EQ(static_cast<int>(Verdict::KeyReused), 11);
  EXPECT_EQ(static_cast<int>(Verdict::OverLimit), 12);
  EXPECT_EQ(static_cast<int>(Verdict::OutcomeUnknown), 21);
  std::vector<std::string_view> names;
  for (const Verdict verdict : kVerdicts) {
    EXPECT_EQ(std::count(names.begin(), names.end(), verdictName(verdict)), 0) << verdictName(verdict);
    names.push_back(verdictName(verdict));
  }
}

TEST(VoucherSettings, NamesEveryFaultAtOnce) {
  VoucherSettings settings{
      "Coffee for two", fromMillis(1000), fromMillis(2000), 1, 100, VoucherState::OnSale, false};
  EXPECT_EQ(faultOf(settings), std::nullopt);
  settings = {std::string("a\x01"), fromMillis(2000), fromMillis(2000), 0, -1, VoucherState::OnSale, false};
  const std::string faults = faultOf(settings).value_or("");
  for (const char* part :
       {"control characters", "end must be after begin", "limit per user", "stock must be"}) {
    EXPECT_NE(faults.find(part), std::string::npos) << part << " in: " << faults;
  }
}

TEST(VoucherSettings, TitlesAreStrictUtf8) {
  VoucherSettings settings{"", fromMillis(1), fromMillis(2), 1, 1, VoucherState::OnSale, false};
  for (const char* good : {"\xE7\xA7\x92\xE6\x9D\x80", "caf\xC3\xA9", "\xF0\x9F\x8E\x9F ticket"}) {
    settings.title = good;
    EXPECT_EQ(faultOf(settings), std::nullopt) << good;
  }
  for (const char* bad : {"\xC0\xAF", "\xED\xA0\x80", "\xE7\xA7", "a\x7F", "\xF5\x80\x80\x80", "\xC2\x85"}) {
    settings.title = bad;
    EXPECT_NE(faultOf(settings), std::nullopt);
  }
}

TEST(Backoff, GrowsToItsCapAndNeverBelowOneMillisecond) {
  test::SeededRandom random(7);
  milliseconds longest{0};
  for (int k = 0; k < 1000; ++k) {
    const auto early = backoff(0, milliseconds(10), milliseconds(500), random);
    EXPECT_TRUE(early >= milliseconds(1) && early <= milliseconds(10));
    longest = std::max(longest, backoff(60, milliseconds(10), milliseconds(500), random));
  }
  EXPECT_GT(longest, milliseconds(450));
  EXPECT_LE(longest, milliseconds(500));
}

}  // namespace
}  // namespace sluice
