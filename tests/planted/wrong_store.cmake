# Wrong variants of what the SQL stores share, seen through store_sqlite.
function(wrong_store name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "IN;BASE;CAUGHT_BY;FROM;TO" "")
  if(NOT ARG_BASE)
    set(ARG_BASE contract)
  endif()
  sluice_planted(NAME store_${name} IN "plugins/${ARG_IN}" BASE integration_store_sqlite_${ARG_BASE}
    CAUGHT_BY ${ARG_CAUGHT_BY} FROM "${ARG_FROM}" TO "${ARG_TO}")
endfunction()

wrong_store(stock_below_zero IN common/sql/decide.cpp BASE concurrent CAUGHT_BY S23
  FROM [=[voucher.remaining < admission.quantity]=] TO [=[voucher.remaining < 0]=])
wrong_store(stock_not_deducted IN common/sql/sql_persist.cpp BASE concurrent CAUGHT_BY S23
  FROM [=[  for (const auto& [voucher, pieces] : taken) {]=] TO [=[  for (const auto& [voucher, pieces] : taken) {
    continue;]=])
wrong_store(no_limit IN common/sql/decide.cpp CAUGHT_BY S08
  FROM [=[holding.pieces + admission.quantity > voucher.limitPerUser]=] TO [=[false]=])
wrong_store(one_mark_for_all_users IN common/sql/decide.cpp CAUGHT_BY S06
  FROM [=[facts_.holdings[{admission.voucher, admission.user}]]=] TO [=[facts_.holdings[{admission.voucher, UserId(1)}]]=])
wrong_store(the_dead_decided_again IN common/sql/sql_persist.cpp CAUGHT_BY R5
  FROM [=[    facts.rows.emplace(row.id, row);]=] TO [=[    if (isLive(row.status)) facts.rows.emplace(row.id, row);]=])
wrong_store(rejected_then_stored IN common/sql/decide.cpp CAUGHT_BY R1
  FROM [=[    if (const auto row = facts_.rows.find(admission.order); row != facts_.rows.end()) {]=]
  TO [=[    if (const auto row = facts_.rows.find(admission.order);
        row != facts_.rows.end() && row->second.status != OrderStatus::Rejected) {]=])
wrong_store(refusals_leave_no_row IN common/sql/decide.cpp CAUGHT_BY R1
  FROM [=[    decision_.rows.push_back(row);]=] TO [=[    if (isLive(row.status)) decision_.rows.push_back(row);]=])
wrong_store(other_content_is_the_same IN common/sql/decide.cpp CAUGHT_BY S07
  FROM [=[  return row.user == admission.user && row.voucher == admission.voucher && row.quantity == admission.quantity;]=]
  TO [=[  return row.id == admission.order;]=])
wrong_store(doubles_in_a_batch IN common/sql/decide.cpp CAUGHT_BY S06
  FROM [=[    Order& seen = facts_.rows[row.admission->order];]=] TO [=[    Order seen;]=])
wrong_store(two_transactions IN common/sql/sql_persist.cpp BASE concurrent CAUGHT_BY S22
  FROM [=[                  if (const Status taken = takePieces(session, decision.taken); !taken) return taken.error();]=]
  TO [=[                  session.soci.commit();
                  execute(session, Text("BEGIN IMMEDIATE"));
                  if (const Status taken = takePieces(session, decision.taken); !taken) return taken.error();]=])
wrong_store(release_forgotten IN common/sql/sql_orders.cpp BASE faults CAUGHT_BY R4
  FROM [=[<< dialect_->unreleased() <<]=] TO [=[<< "released_at IS NULL AND status >= 4 ORDER BY updated_at, id" <<]=])
wrong_store(the_living_released IN common/sql/sql_orders.cpp CAUGHT_BY R2
  FROM [=[<< dialect_->unreleased() <<]=] TO [=[<< "released_at IS NULL ORDER BY updated_at, id" <<]=])
wrong_store(cancel_without_row IN common/sql/sql_orders.cpp CAUGHT_BY R3
  FROM [=[    if (!row) return Change{insertCancelled(session, request, now), true};]=]
  TO [=[    if (!row) return noSuchOrder(admission.order);]=])
wrong_store(given_back_twice IN common/sql/sql_orders.cpp CAUGHT_BY S15
  FROM [=[  if (changed == 1) {
    if (const Status back]=] TO [=[  if (changed <= 1) {
    if (const Status back]=])
wrong_store(ids_as_doubles IN common/sql/statement.cpp CAUGHT_BY S25
  FROM [=[std::to_chars(digits.data(), digits.data() + digits.size(), number)]=]
  TO [=[std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::int64_t>(static_cast<double>(number)) - (number > (1LL << 53) ? 1 : 0))]=])
wrong_store(newer_schema_taken IN common/sql/schema.cpp BASE contract CAUGHT_BY S03
  FROM [=[    return misconfigured(versions(version.value(), ours) + "; run a program at least as new as the schema");]=]
  TO [=[    return static_cast<int>(ours);]=])
wrong_store(errors_tell_values IN store_sqlite/sqlite_error.cpp BASE faults CAUGHT_BY S29
  FROM [=[      return unavailable("the database is read-only: " + text);]=]
  TO [=[      return unavailable("INSERT INTO orders VALUES (7, 4242): " + text);]=])
wrong_store(nobody_hears_of_a_free_session IN common/sql/session_pool.cpp BASE faults CAUGHT_BY S21
  FROM [=[    if (session != nullptr && !closed_) idle_.push_back(std::move(session));  // has room since construction
  }
  changed_.notify_all();]=]
  TO [=[    if (session != nullptr && !closed_) idle_.push_back(std::move(session));
  }]=])
wrong_store(malformed_taken IN common/sql/sql_persist.cpp BASE faults CAUGHT_BY S09
  FROM [=[    const auto fault = faultOf(admissions[k]);]=] TO [=[    std::optional<std::string> fault;]=])
wrong_store(names_of_any_bytes IN common/sql/sql_processes.cpp CAUGHT_BY S26
  FROM [=[ && isPrintable(name)]=] TO [=[]=])
