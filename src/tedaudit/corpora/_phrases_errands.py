"""Word material of the demo corpus on banking, shopping and travel, in the language of `_grammar`."""

TEXT = """
to banking = <Mr/Ms> <surname> *3 | <anyone>
account = account <code> | my current account | my savings account | our joint account | my business account
card = card | debit card | credit card | gold card | card ending in ####
payee = the gas company | a gym in <town> | my landlord | the tax office | a charity | a shop in <country>
  | <anyone> <surname>
complaint banking = my <@card> was [declined|blocked|swallowed by a machine] in <town> <past> [for no
    reason|without warning].
  | the transfer of <sum> to <@payee> has been [stuck|missing|pending] since <date>.
  | your [app|website] [logs me out|crashes|freezes] whenever I try to [pay a bill|see <@account>|add a
    payee]. | I have rung you <few> times about <@account> and always reach a machine.
  | I have written to you <few> times about <@account> and got no answer.
  | I asked for a new <@card> <past>, and it was posted to [my old address|<address>|my ex].
slight banking = the branch in <town> [closed|moved] <past> and nobody [told us|wrote to the customers|put
    up a sign].
  | somebody at your <town> branch [told <@name>|told the whole queue] how much I have in <@account>.
  | I spent <few> hours on hold [<past>|this week] [listening to flute music|just to change my PIN].
  | <Mr/Ms> <surname> talked me into [a pension plan|a fund|a savings plan] that lost <sum>.
demand banking = I need this to work [before <clock>|today].
  | I want this [traced|explained|put right] by <date>.
  | please answer by <date>, or I'll [close <@account>|move to another bank|complain to the ombudsman].
  | please look at case <code>. | please put me through to [a human|your manager|<Mr/Ms> <surname>].
overcharge banking = there is a payment of <@money> to <@payee> on <date> that I never made.
  | you took <@money> from <@account> as a [monthly|transfer|foreign currency|late payment] fee.
  | the cash machine in <town> gave me nothing but booked <@money> from <@account>.
  | my <@card> was charged <@money> twice at [the station|a hotel in <town>|a petrol station].
bad banking = somebody withdrew <sum> from <@account> in <town> <past>
  | I owe <@payee> <sum> and can't pay before <date>
  | my <@card> and my PIN were in the stolen [bag|coat|car] | the loan of <sum> was turned down
  | we are <sum> in the red | a caller from <phone> has my password now
  | <@kin> sent <sum> to a stranger in <country> | my salary has not arrived
secret banking = I have <sum> in an account in <country> | I took <sum> from the joint account <past>
  | I gambled away <sum> in <month> | my <@card> has been blocked since <date> | I owe <anyone> <sum>
  | I gave my PIN to <@name> | I won <sum> in the lottery <past>
  | I have not opened a bank letter since <month>
good banking = the loan of <sum> came through <past> | I paid off the last <money> of my debt
  | <@payee> returned the <sum> | the fraud team stopped a transfer of <sum> to <country>
  | I have saved <sum> since <month> | our shares are up by <sum> | the bank cancelled the fee of <fee>
  | my tax refund of <sum> arrived <past>
praise banking = <Mr/Ms> <surname> at the <town> branch was <so> [helpful|clear|honest|quick] about the
    [loan|pension|mortgage].
  | your fraud team [rang me|blocked my <@card>] within minutes when somebody in <country> tried to spend
    <money>.
  | the new app is <so> [simple|fast|easy to read], and the transfer to <@payee> took [seconds|two clicks].
  | opening <@account> took <few> minutes, and the <@card> came by <weekday>.
helping banking = the quick loan | your help with <@account> | the call about my <@card> <past>
  | the refund of <money> | your patience on the phone <past> | the better rate on the <sum>
  | the new <@card>
ask banking = what is the [limit|fee|daily limit] on my <@card> in <country>?
  | has the <money> from <@payee> arrived [in <@account>]?
  | how do I [change my PIN|add <@name> to <@account>|stop a standing order|block a <@card>]?
  | which rate do I get on <sum>? | when will the <sum> [leave|reach] <@account>?
  | can I pay the <sum> in <few> parts? | is <@account> still open?
  | is the message about <@account> from <phone> really from you?
open banking = my <@card> works in <country> | the payment of <money> to <@payee> went through
  | <@name> can sign for <@account> | there is a fee on transfers above <sum>
  | the branch on <street> is open on <weekday> | I can raise the limit to <sum>
do banking = transfer <sum> from <@account> to <@payee> | block the <@card>
  | send a statement for <month> to <@email> | raise the limit of my <@card> to <sum>
  | cancel the standing order to <@payee> | change my address to <address>
  | confirm that <sum> reached account <code> | close <@account> [and send the rest to account <code>]
act banking = pay <money> to <@payee> | close <@ledger> | collect the new <@card> in <town>
  | ask for a loan of <sum> | move <sum> to <@ledger> | sign the papers for <@ledger>
  | see <Mr/Ms> <surname> about the mortgage | exchange <sum>
ledger = the savings account | the old account | account <code> | the joint account | the account in <town>
due banking = the <money> for <@payee> will be taken on <date> | your <@card> expires in <month>
  | the offer of <sum> ends on <date> | interest on <@account> is paid on <date>
  | the new PIN is valid from <date>
report banking = I sent <money> to <@payee> on <date>, reference <code>.
  | my account number is ^###-####, in the name of <surname>.
  | the balance of <@account> was <sum> on <date>. | I earn <wage> a month and pay <money> in interest.
  | <@name> has had power of attorney over <@account> since <date>.
  | I lost my <@card> in <town> <past> at about <clock>.
short banking negative = card blocked again. | <money> just vanished! | loan refused, no reason.
  | overdrawn since <date>. | who is <anyone> <surname>? | the app crashed again. | they have my PIN.
short banking positive = the loan came through! | debt free since <month>! | <money> back, thank you.
  | <sum> saved so far! | great service in <town>. | got the new <@card>!
short banking neutral = <money> sent to <anyone>. | is <sum> enough? | PIN changed <past>.
  | reference <code>, <money>. | paid <@payee> <past>. | which account, <code>? | new limit: <sum>.

to shopping = <anyone> *2 | <Mr/Ms> <surname>
item! = kettle | winter coat | desk lamp | sleeping bag | coffee grinder | tablet | bookshelf | raincoat
  | violin | phone case | rug | frying pan | mattress | backpack | wrist watch | garden hose | printer
  | electric bike | pram | armchair | blender | umbrella | ice cream maker | silk scarf | headset
flaw = scratched | cracked | far too small | the wrong colour | missing a screw | second-hand | soaked
  | broken
shop = the shop on <street> | the shop in <town> | the market in <town> | the outlet near <town>
  | the corner shop
complaint shopping = the <@item> I ordered on <date> [was|is|turned out to be] <flaw>.
  | my <@item> was meant to arrive <past>, and the tracking [has not changed since <weekday>|says it is in
    <country>].
  | your driver left the <@item> [in the rain|with a stranger|behind the bins] [at <address>|<past>].
  | the <@item> [broke|came apart|started to smell] after <span>.
  | I got a <item> instead of the <@item> [in order <code>|I paid for].
  | the <@item> was <so> [overpriced|badly packed|cheaply made].
slight shopping = the assistant at <@shop> [laughed at|ignored|was rude to] <@kin>, who only wanted [a
    <@item>|to pay|some advice].
  | the queue at <@shop> was endless <past>, and [only one till was open|the <@item> was gone by <clock>].
  | <@shop> sold the last <@item> to somebody else although I had [reserved it|paid a deposit of <fee>].
demand shopping = please send a new one to <address>.
  | I want to [return it|exchange it] [this week|at <@shop>]. | the order number is <code>. *2
  | where do I send it back? | please answer, or I'll leave one star.
  | please [collect it|replace it|answer me] before <date>.
overcharge shopping = I paid <@money> for a <@item> that [never came|costs half elsewhere|turned out to be
    <flaw>]. | my <@card> was charged <@money> for order <code>, which I cancelled <past>.
  | <@shop> refuses to take back a <@item> worth <@money>.
  | the website said the <@item> was <@money> less [than I paid|with the voucher].
bad shopping = the <@item> for <@name> won't arrive before <date>
  | the shop that has my <sum> went bankrupt <past> | I lost the receipt for the <@item>
  | I fell for a fake shop and gave them card number ####-#### | I can't stop buying things online
  | the parcel with <@kin>'s <@item> was stolen from <address>
secret shopping = the <@item> cost <money>, not <money> | I sold <@kin>'s <@item> for <money>
  | I hid a new <@item> in the cellar | I spent <sum> online in <month> | I never paid for the <@item>
  | the <@item> was a gift that I returned | I walked out of <@shop> with a <@item>
good shopping = the <@item> arrived <past>, <few> days early | I got a <@item> for <money> at <@shop>
  | <@shop> replaced the <@item> for free | my <@item> sold for <money>
  | I found the <@item> that <@kin> wanted | the lost parcel turned up at <address>
praise shopping = the <@item> is <so> [sturdy|elegant|comfortable|well made], and it cost only <fee>.
  | the staff at <@shop> were <so> [friendly|patient|honest] when I [returned|picked out] a <@item>.
  | five stars: the <@item> [came in two days|works perfectly|fits|looks even better than online].
  | best <@item> I have ever owned.
  | I bought the <@item> for <@kin>, who [loves it|uses it every day|wants another one].
helping shopping = the fast delivery of the <@item> | the free repair of my <@item>
  | your help at <@shop> <past> | the <money> voucher | the kind note in the parcel
  | the honest advice on the <@item> | the spare part for the <@item>
ask shopping = do you still have the <@item> in [blue|green|black|a larger size|my size]?
  | how much is the <@item> with delivery to <town>? | can I pick up order <code> <future>?
  | does the <@item> come with a [guarantee|manual|charger]? | is <money> your best price for the <@item>?
  | what time does <@shop> [open|close] on <weekday>? | where is my parcel, number <code>?
  | will the <@item> suit a [child|beginner|left-hander]?
open shopping = you ship a <@item> to <country> | the <@item> is cheaper at <@shop> | order <code> has left
  | I can pay <money> in cash | the <@item> can be returned after <date>
  | there is a sale at <@shop> <future>
do shopping = send order <code> to <address> instead | reserve the <@item> until <weekday>
  | gift-wrap the <@item> for <@name> | cancel order <code> | email the receipt for the <@item> to <@email>
  | leave the parcel with <anyone> at number ^# | add a second <@item> to order <code>
act shopping = buy a <@item> for <@kin> | return the <@item> to <@shop> | collect the parcel from <address>
  | compare prices for a <@item> | sell the <@item> for <money> | order a <@item>
  | use the voucher for <money> at <@shop>
due shopping = the voucher for <money> expires on <date> | the sale at <@shop> ends <future>
  | order <code> must be picked up by <date> | the <@item> can go back until <date>
  | the courier comes between [8|9|10] am and [1|2|4|5] pm
report shopping = I ordered a <@item> on <date>, number <code>, for <money>.
  | the parcel for <anyone> <surname> is at <address>. | I paid <money> for the <@item> with my <@card>.
  | size [3|4]#, [red|grey|navy blue], to be sent to <address>.
  | we need milk, [rice|bread|onions], [soap|candles|eggs] and [light bulbs|batteries|cat food|a new
    kettle]. | the <@item> is ^0 cm wide and weighs ^ kilos.
short shopping negative = wrong size again. | the <@item> is <flaw>. | parcel stolen <past>.
  | never again, <surname> and Sons. | no refund, no answer. | still no <@item>. | sold out everywhere.
short shopping positive = love the new <@item>! | bargain of the year! | the <@item> is perfect.
  | only <fee>, amazing! | great <@item>, fast delivery. | parcel came, all good.
short shopping neutral = order <code>, please. | [coat|jacket|sandals|jeans], size [3|4]#, [blue|red].
  | is <money> okay? | still need a <@item>? | at <@shop> now. | open until <late>?
  | parcel is at <address>. | how much, <money>?

to travel = <anyone> *3 | <Mr/Ms> <surname>
ride = flight *2 | train *2 | night bus | coach | night train | early flight
lodging = hotel | hostel | guest house | bed and breakfast | lakeside inn | motel | rented flat
luggage = suitcase | rucksack | stroller | camera bag | laptop | guitar | snowboard
sight = castle | old harbour | cathedral | night market | botanical garden | city museum | aquarium
  | rose garden | opera house | clock tower
complaint travel = our <@ride> [from <town>] to <town> was [cancelled|<few> hours late|overbooked] <past>
    and nobody told us.
  | the <@lodging> in <town> was <so> [noisy|dirty|cold|far from everything], and the [shower|bed|window]
    was broken.
  | you lost my <@luggage> between <town> and <town>[, so send it to <address> as soon as it turns up].
  | the driver [refused|forgot|threw out] my <@luggage> [in <town>|at the border|at the station].
  | somebody else was [asleep in|given] our room at the <@lodging> when we arrived at <clock>.
slight travel = the guide in <town> [left without us|spoke no English|was drunk] <past>.
  | I [stood|sat on the floor] all the way from <town> to <town>, although I had booked seat ^#.
  | <town> in <month> is [one big car park|full of drunks|nothing but rain], and the <@sight> was closed.
  | we queued for <few> hours to see the <@sight> and paid <money> for [nothing|ten minutes].
demand travel = the booking number is <code>. *2
  | please [help us|answer|put this right] [before <clock>|today|by <date>].
  | I want [compensation|an apology|my money back] [by <date>]. | what are you going to do about it?
overcharge travel = the <@lodging> in <town> took <@money> for [a towel|the minibar|breakfast|parking] that
    we never had. | I paid <@money> for seat ^# on a <@ride> that [never left|was cancelled <past>].
  | you charged me <@money> for my <@luggage> at the gate.
  | booking <code> was <@money> online and suddenly costs more.
bad travel = my passport was stolen in <town> <past> | we missed the last <@ride> to <town>
  | <@kin> is stuck in <country> until <date> | the <@lodging> has never heard of booking <code>
  | my visa for <country> was refused | I left my <@luggage> on the <@ride>
  | there is a storm and the <@ride> <future> may be cancelled | we have run out of money in <town>
secret travel = I am flying to <country> with <anyone> <future> | I was in <town> <past>, not at work
  | I travelled without a ticket | I booked a one-way ticket to <country> | I lost the passports
  | I spent the night in a <@lodging> in <town> <past> | I have a second passport, number <code>
  | I am scared of flying
good travel = we got seats on the <@ride> to <town> for <money> | my <@luggage> turned up in <town>
  | the visa for <country> came <past> | we were moved to first class on the <@ride> to <town>
  | <@name> is joining us in <town> <future> | the <@lodging> in <town> has a room for us
  | we made the <@ride> with a minute to spare
praise travel = the <@lodging> in <town> was <so> [cosy|clean|charming|peaceful], and the
    [breakfast|view|garden] was a dream.
  | we saw the <@sight> in <town> <past> and [stayed for hours|took far too many pictures|want to go back].
  | <@name>, our guide in <town>, [knew every stone|told the best stories|found us a <@lodging>].
  | the <@ride> to <town> was on time, [quiet|comfortable|half empty], and cost only <fee>.
helping travel = the lift to the airport | the tip about the <@sight> in <town>
  | the upgrade on the <@ride> <past> | your help with my <@luggage> | the map of <town>
  | the wonderful days in <country> | the early check-in at the <@lodging>
ask travel = where does the <@ride> to <town> leave from?
  | what time is the <@ride> from <town> to <town> on [<weekday>|<date>]?
  | can I take a <@luggage> on the <@ride>?
  | how much is a [double|single] room [from <date>|in <month>] for <few> nights?
  | do I need a visa for <country>? | is the <@sight> in <town> worth the <fee>?
  | may we check out at <clock>? | is there a [pharmacy|cash machine|laundry] near the <@lodging>?
open travel = the <@ride> to <town> runs on <weekday> | the <@lodging> has parking
  | there is a <@ride> after <clock> | breakfast costs extra | the <@sight> is open on <weekday>
  | <country> takes the euro | I can change booking <code>
do travel = change booking <code> to <date> | reserve <few> seats on the <@ride> to <town>
  | hold my room at the <@lodging> until <clock> | send the tickets to <@email>
  | pick us up at the <@sight> at <clock> | keep my <@luggage> until <weekday> | book a taxi to <address>
act travel = book the <@ride> to <town> | renew the passport | print the tickets for booking <code>
  | pack the <@luggage> | see the <@sight> in <town> | meet <@name> in <town> | take the <@ride> to <town>
  | call the <@lodging> on <phone>
due travel = the <@ride> to <town> leaves at <clock> from [platform ^|gate ^#] | check-in closes at <clock>
  | we fly to <country> <future> | the room has to be paid by <date>
report travel = I land in <town> on <date> at <clock>, flight <letter><letter>^##.
  | we stay at the <@lodging>, <address>, until <date>.
  | my passport number is <letter>^######, valid until <day> <month> 20[26|27|28|29|30|31|32].
  | I left a black <@luggage> on the <@ride> to <town> <past>.
  | we are <few> adults and a child, booking <code>. | the trip to <country> costs <sum> for two.
  | I am now in <town> with <@name>.
short travel negative = missed the <@ride>. | lost in <town>. | rain, rain, rain.
  | no room at the <@lodging>. | <@luggage> gone, passport too. | stuck in <town> since <clock>.
  | <@ride> cancelled again.
short travel positive = landed safely in <town>! | <town> is wonderful. | best <@lodging> ever!
  | what a <@sight>! | greetings from sunny <country>! | we made the <@ride>!
short travel neutral = boarding now, seat ^#. | gate ^#, <clock>. | which <@ride>, <clock>?
  | back on <date>. | booking code <code>. | leaving <town> at <clock>. | two tickets to <town>.
"""
