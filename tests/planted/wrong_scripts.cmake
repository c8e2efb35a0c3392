# Wrong variants of the scripts in Redis.
function(wrong_script name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "IN;BASE;CAUGHT_BY;FROM;TO" "")
  sluice_planted(NAME script_${name} IN "core/src/qualify/scripts/${ARG_IN}" BASE integration_qualify_${ARG_BASE}
    CAUGHT_BY ${ARG_CAUGHT_BY} FROM "${ARG_FROM}" TO "${ARG_TO}")
endfunction()

wrong_script(stock_below_zero IN qualify.lua BASE decide CAUGHT_BY V01
  FROM [=[  if stock < wanted then return INSUFFICIENT end
]=] TO [=[]=])
wrong_script(no_limit IN qualify.lua BASE decide CAUGHT_BY V01
  FROM [=[  if refusal then return refusal end
]=] TO [=[]=])
wrong_script(one_mark_for_all_users IN qualify.lua BASE decide CAUGHT_BY V01
  FROM [=[  users[k] = ARGV[at + 1]]=] TO [=[  users[k] = '1']=])
wrong_script(shut_before_the_limit IN qualify.lua BASE decide CAUGHT_BY V02
  FROM [=[  local refusal = overLimit(user, wanted)]=] TO [=[  if shut then return shut end
  local refusal = overLimit(user, wanted)]=])
wrong_script(check_then_deduct IN qualify.lua BASE decide CAUGHT_BY V03
  FROM [=[  stock, taken, room = stock - wanted, taken + wanted, room - 1]=] TO [=[  taken, room = taken + wanted, room - 1]=])
wrong_script(same_id_twice IN qualify.lua BASE decide CAUGHT_BY V04
  FROM [=[  if findHold(held[user], order) then return ADMITTED .. ':' .. order end
]=] TO [=[]=])
wrong_script(key_without_content IN qualify.lua BASE decide CAUGHT_BY V05
  FROM [=[  if firstQuantity ~= quantity then return KEY_REUSED end
]=] TO [=[]=])
wrong_script(only_the_first_is_journaled IN qualify.lua BASE decide CAUGHT_BY V06
  FROM [=[  for k = 2, #entries do redis.call('XADD', KEYS[5], '*', 'o', entries[k]) end
]=] TO [=[]=])
wrong_script(journal_without_bound IN qualify.lua BASE decide CAUGHT_BY V07
  FROM [=[  if room <= 0 then return BUSY end
]=] TO [=[]=])
wrong_script(journal_trimmed IN qualify.lua BASE decide CAUGHT_BY V07
  FROM [=[  room = journalMax - redis.call('XLEN', KEYS[5])]=]
  TO [=[  redis.call('XTRIM', KEYS[5], 'MAXLEN', journalMax - 1)]=])
wrong_script(release_without_guard IN release.lua BASE keep CAUGHT_BY V08
  FROM [=[  if not at then return nil end
]=] TO [=[  if not at then return 1 end
]=])
wrong_script(load_over_keys IN load.lua BASE keep CAUGHT_BY V09
  FROM [=[  if redis.call('EXISTS', KEYS[k]) == 1 then return 'keys_exist' end]=] TO [=[]=])
wrong_script(sync_takes_anything IN sync.lua BASE keep CAUGHT_BY V10
  FROM [=[if tonumber(ARGV[1]) <= v.version then return 'not_newer' end
]=] TO [=[]=])
wrong_script(sync_forgets_the_stock IN sync.lua BASE keep CAUGHT_BY V10
  FROM [=[local stock = v.stock + tonumber(ARGV[7]) - v.allocated]=] TO [=[local stock = v.stock]=])
wrong_script(sums_unchecked IN voucher.lua BASE damage CAUGHT_BY V11
  FROM [=[  if v.stock < 0 or v.held < 0 or v.stock + v.held ~= v.allocated then return 'stock + held is not allocated' end
]=] TO [=[]=])
wrong_script(journal_type_unchecked IN qualify.lua BASE damage CAUGHT_BY V12
  FROM [=[  if kind ~= 'stream' and kind ~= 'none' then return sameForAll(FROZEN, 'the journal is a ' .. kind .. ', not a stream') end
]=] TO [=[]=])
wrong_script(release_needs_memory IN release.lua BASE damage CAUGHT_BY V13
  FROM [=[  redis.call('HDEL', KEYS[2], user)
]=] TO [=[  redis.call('HSET', KEYS[2], user, holds)
  redis.call('HDEL', KEYS[2], user)
]=])
wrong_script(holds_live_for_ever IN qualify.lua BASE keep CAUGHT_BY V20
  FROM [=[if holdsKind == 'none' then expireAt(KEYS[2], v.expires) end
]=] TO [=[]=])
wrong_script(released_and_asked_again IN qualify.lua BASE decide CAUGHT_BY V04
  FROM [=[  if released[order] == user then return ADMITTED .. ':' .. order end
]=] TO [=[]=])
wrong_script(release_unnoted IN release.lua BASE decide CAUGHT_BY V04
  FROM [=[  redis.call('HSET', KEYS[3], unpack(notes))
]=] TO [=[]=])
wrong_script(too_much_is_already_ordered IN qualify.lua BASE decide CAUGHT_BY V01
  FROM [=[or OVER_LIMIT]=] TO [=[or ALREADY_ORDERED]=])
wrong_script(lease_for_everybody IN lead.lua BASE server CAUGHT_BY V23
  FROM [=[if owner and owner ~= ARGV[1] then return { 'other', owner } end
]=] TO [=[]=])
wrong_script(lease_without_end IN lead.lua BASE server CAUGHT_BY V23
  FROM [=[redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])]=] TO [=[redis.call('SET', KEYS[1], ARGV[1])]=])
wrong_script(resigns_for_others IN resign.lua BASE server CAUGHT_BY V23
  FROM [=[if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
]=] TO [=[]=])
wrong_script(aside_and_still_there IN set_aside.lua BASE server CAUGHT_BY V25
  FROM [=[    redis.call('XDEL', KEYS[1], ARGV[k])
]=] TO [=[]=])
