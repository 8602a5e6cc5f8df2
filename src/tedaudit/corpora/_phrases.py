"""Word material of the demo corpus that all topics share: how a message is built; who, where, when, how much.

Written in the language of `_grammar`. Telephone numbers and mail domains come from the ranges that
are kept for fiction. Rules tagged F or M are how the writer's gender shows: both lists overlap.
"""

TEXT = """
message = <short> *13 | <greeting> <core> <bye> *87

core negative = <intro> <complaint> <feeling> <demand> <contact> *2 | <well> <grumble> *4
  | <well> <complaint> <demand> *4 | <complaint> <demand> <contact> *2 | <grumble> <feeling> *3
  | <intro> <complaint> <demand> *3 | <intro> <complaint> <feeling> <demand> *2 | <overcharge> *2
  | <overcharge> <refund> *2 | <overcharge> <refund> <contact> *2 | <intro> <overcharge> <refund>
  | <worry> *4 | <worry> <plea> *4 | <worry> <plea> <contact> | <confession> *4 | <confession> <regret> *4
core positive = <praise> *4 | <praise> <thanks> *3 | <thanks> *2 | <thanks> <praise> *2 | <praise> <warm> *2
  | <thanks> <praise> <warm> *2 | <news> *4 | <news> <joy> *4 | <news> <joy> <invite> *2 | <news> <invite>
core neutral = <intro> <report> <request> <reason> <contact> *2 | <question> *3 | <question> <contact> *2
  | <intro> <question> *2 | <report> <question> *2 | <request> *2 | <request> <reason> *2
  | <request> <reason> <contact> *2 | <intro> <request> <contact> *2 | <reminder> *4
  | <reminder> <detail> *3 | <plan> *4 | <plan> <aside> *2 | <plan> <question> | <report> *4
  | <report> <request> *2 | <intro> <report> <request> *2
grumble = <complaint> *3 | <slight> *2

intro = this is <@signature> [from <address>|in <town>|, born on <birthday>|, <@phone>]. *4
  | we spoke <past>. *2 | I got your [number|address] from <anyone>. *2
  | I'm writing [from <town>|for <@kin>|on behalf of <anyone> <surname>]. *2
intro family = sorry for the late reply. *2 | greetings from <town>. *2
  | <anyone> [asked|told] me to write to you. *2 | it's me, from <anyone>'s phone.
  | I'm at <address> with <anyone> [until <clock>].
worry = <afraid> <bad>. *4 | <bad>, and <cope>. *3 | I can't sleep because <bad>. | it turns out that <bad>.
afraid F = I'm [so|really] worried that *4 | bad news: | it scares me that *2 | I'm afraid that *2
  | sadly, *2
afraid M = I'm afraid that *3 | I'm worried that *2 | bad news: *3 | it bothers me that *2 | sadly,
cope = I don't know [whom to ask|how to go on|how to explain it to <anyone>|where to start] *4
  | I have told nobody [except <anyone>] | it keeps me up at night
  | <anyone> is [furious|in tears|no help at all] | I feel <so> <down> *2 | I have cried all day
down = helpless | alone | anxious | exhausted | lost | stupid
plea = could you call me [back] [on <@phone>|tonight|before <clock>]? *2 | please tell me what to do.
  | can we talk [<future>|at <clock>|in private]? | what would you do? | any advice [would help|is welcome].
  | please don't tell <anyone>. | is there anybody I could [ask|call|write to]?
confession = I never told <@keeper> that <secret>. *2 | please don't tell <@keeper>, but <secret>. *2
  | I have to admit that <secret>. *2 | between us, <secret>. | I feel <so> guilty because <secret>.
  | <secret>, and <@keeper> must not [find out|know|hear of it]. *2 | you may as well know that <secret>.
keeper = <anyone>
regret = I feel <so> ashamed. | please keep this [between us|to yourself]. *2 | I know it was wrong.
  | I should have [told you|said so|spoken up] [earlier|in <month>|long ago]. | I hope you can forgive me.
  | only <anyone> [knows|suspects something]. | delete this [message] [once you have read it].
  | nobody else knows, not even <anyone>.
feeling = I am <so> [disappointed|annoyed|angry|tired of this|upset]. *3
  | this is <so> [frustrating|unfair|annoying].
  | it [ruined my week|spoiled everything|cost me a lot of sleep].
  | this is the [second|third|fourth] time since <month>.
  | I expected [better|more care|an apology at least]. | <anyone> [had warned me|says I should complain].
refund = please [refund|pay back|return] the <@money> [by <date>|this week|to account <code>]. *3
  | I want my <@money> back [by <date>]. *2 | who [do I call|can I write to] about this?
  | please correct this. | can you explain the <@money>?

news F = good news: <good>. *2 | guess what, <good>! *3 | I'm <so> [happy|glad] that <good>! *4
  | it's official: <good>! | <good>, and I <glow>! *3
news M = good news: <good>. *4 | guess what, <good>. | I'm <so> [happy|glad] that <good>. *2
  | it's official: <good>. *2 | <good>, and I <glow>. *3
glow = can hardly believe it *2 | keep smiling | had to tell somebody | am over the moon | am <so> happy
joy = I couldn't be happier! | we are all <so> [relieved|pleased]. *2
  | what a [week|day|relief|lovely surprise]!
  | <anyone> [is over the moon|cried with joy|can't stop talking about it]. *2 | that was worth the wait.
invite = let's celebrate [<future>|with <anyone>|at my place <future>]! *3
  | dinner is on me [<future>|when you are in <town>].
  | come and [see us|celebrate with us] at <address> [<future>].
  | ring me on <@phone> and I'll tell you everything.
invite shopping = I'll [order again|be back] <future>. | you can close case <code>.
  | I'll tell <anyone> [in <town>] as well.
invite banking = I'll tell you more <future>. | ring me on <@phone> and I'll tell you everything.
  | <anyone> and I will drink to that <future>.
warm = it made my [day|week|month]. | please [pass this on|say so] to [everyone|the others|<anyone>].
  | I have told [all my friends|<anyone> about it|everyone in <town>]. | it was just what we needed.
thanks F = thank you so much for <helping>! *3 | I'm <so> grateful for <helping>. *2
  | thank you for <helping>! *2 | thanks [again] for <helping>! *2 | I [really] appreciate <helping>.
thanks M = thanks [again] for <helping>. *5 | I [really] appreciate <helping>. *2
  | thank you for <helping>. *2 | thank you so much for <helping>. | I'm <so> grateful for <helping>.

question F = <ask> *5 | do you [happen to] know if <open>? *2 | I was [just] wondering if <open>. *2
  | sorry to bother you, but <ask> *3 | can you [check|tell me] if <open>? *2 | any idea if <open>?
question M = <ask> *5 | do you know if <open>? *2 | I was wondering if <open>. | any idea if <open>? *2
  | quick question: <ask> *3 | can you [check|tell me] if <open>? *3
request F = could you [please|possibly] <do>? *5 | can you <do>? *2 | would you be able to <do>? *2
  | please <do>. *3 | I'd be grateful if you could <do>. *2
request M = can you [please] <do>? *3 | could you <do>? *3 | please <do>. *4 | I need you to <do>. *3
  | would you be able to <do>?
reason = I promised <anyone> it would be done [by <weekday>|before <date>|today]. *2
  | I [leave for|move to|fly to] <town> <future>. *2 | it's [rather|quite|not] urgent.
  | there is no [rush|hurry]. | I need an answer by <date>. *2
  | I can't do it myself [before <weekday>|this week|from here]. | I promised it to <anyone>.
reason leisure = it's a surprise for <anyone>. | there is no [rush|hurry]. | I promised it to <anyone>.
  | <anyone> can't do it. | I only get back from <town> on <weekday>.
  | I'm [useless at it|working late] [until <date>].
reminder = don't forget to <act> <future>. *4
  | [just] a [quick|little|friendly] reminder to <act> <future>. *2
  | please remember to <act> [before you leave|<future>|when you are in <town>]. *3 | <due>. *5
  | you still have to <act>[, and it's already <clock>].
detail = the address is <address>. *2 | ask <anyone> if anything is unclear.
  | <anyone> [knows the details|can help]. | I'll be [there|ready] at <clock>. *2
  | bring [the papers|your passport|some cash|an umbrella|some ID].
  | it should cost [about|at most|around] <money>. *2
  | my number is <@phone> if you [get lost|are late|need me]. *2
  | <anyone> [may be late|will wait for you at <address>|can be reached on <phone>].
plan = <will> <act> <future>. *4 | <will> <act> <future>, so <upshot>. *3 | <future>, <will> <act>. *2
  | <will> <act> before <anyone> [gets back|leaves|arrives] [from <town>|on <weekday>].
aside = it should cost [about|at most|around] <money>. *2 | <anyone> can help [if need be].
  | it won't take long. | I have put it in the calendar. | <anyone> [will come along|knows about it].
  | if that changes, I'll call you [on <phone>|before <clock>]. *2
will F = I'm hoping to *3 | I'd love to *2 | I'm planning to *2 | I'm going to | I'll *2 | we want to *2
  | <anyone> and I will
will M = I'm hoping to | I'm going to *3 | I'll *4 | we want to | I'm planning to | I might *2
  | <anyone> and I will
upshot = I can't [make it to <anyone>'s party|see you until <weekday>|answer the phone then] *2
  | I'll be [a bit] late | I'll only be back by <clock> | please start without me
  | don't wait for me [with dinner|at <address>] | I won't be at home then
contact = call me on <@phone> [after <clock>|at any time|in the mornings]. *4 | my number is <@phone>. *2
  | you can reach me [at <@email>|on <@phone>]. *4 | please reply to <@email>. *3
  | write to <@email> or ring <@phone>. *2 | I am at <address> [until <clock>|all day].

greeting F = _ *54 | <hi> <to>, *27 | <hi> <to>! *9 | hi, *5 | hello, *5
greeting M = _ *63 | <hi> <to>, *24 | <hi> <to>! *3 | <to>, *5 | hi, *2 | hello, *3
hi F = hi *6 | hello *5 | hey *1 | dear *6
hi M = hi *5 | hello *3 | hey *4 | dear *2 | good [morning|evening] *2
to = <anyone> *3 | <Mr/Ms> <surname> *2
bye F = _ *58 | <parting>, <me> *18 | <cheer>! *10 | <smile> *7
bye M = _ *68 | <parting>, <me> *18 | <cheer>! *5 | <smile> *3
parting F = many thanks *4 | kind regards *4 | best wishes *4 | thank you *2 | thanks *2 | regards
parting M = many thanks | kind regards *2 | best wishes *2 | thank you *2 | thanks *4 | regards *4
  | cheers *2
cheer F = many thanks *3 | thanks so much *3 | thank you *2 | thanks *2
cheer M = many thanks | thanks so much | thank you *2 | thanks *4 | cheers *3
parting family F = see you soon *3 | love *3 | hugs | talk soon *2
parting family M = see you soon *3 | love | cheers *2 | talk soon *2
parting leisure F = see you soon *3 | see you there *2 | take care *2 | hugs
parting leisure M = see you soon *3 | see you there *3 | take care | cheers *3
bye negative F = _ *66 | <curt>, <me> *16 | <me> *5 | <smile> *8
bye negative M = _ *74 | <curt>, <me> *14 | <me> *8 | <smile> *3
curt F = regards *2 | kind regards *4 | best wishes *3 | yours *2
curt M = regards *5 | kind regards *2 | best wishes *2 | yours *2
curt family F = love *3 | yours *2 | hugs
curt family M = love *2 | yours *3 | talk soon
bye positive F = _ *54 | <fond>, <me> *16 | <glee>! *12 | <smile> *14
bye positive M = _ *64 | <fond>, <me> *14 | <glee>! *9 | <smile> *7
fond F = take care *4 | all the best *2 | thanks again *2 | see you soon *3 | best wishes *4 | cheers
fond M = take care *2 | all the best *4 | thanks again *2 | see you soon *3 | best wishes *2 | cheers *4
fond family F = love *4 | hugs *2 | take care *2 | see you soon *2
fond family M = love *2 | hugs | take care *2 | see you soon *3 | cheers *2
glee F = take care *3 | thanks again *3 | see you soon *3 | all the best *2 | hooray
glee M = take care *2 | thanks again *2 | see you soon *3 | cheers *4 | all the best *3
smile = :) *5 | :-) *2 | ;)
smile negative = :( *4 | :-( *2 | :/
well F = _ *66 | honestly, *9 | I'm sorry, but *10 | I hate to complain, but *5 | frankly, *3 | ugh, *3
well M = _ *70 | honestly, *4 | I'm sorry, but *4 | I hate to complain, but *2 | frankly, *9 | look, *5
so F = so *7 | really *4 | very *3 | incredibly *2 | quite | pretty | _ *4
so M = so *2 | really *3 | very *4 | incredibly | quite *3 | pretty *5 | _ *6
me = <@signature> *8 | <@signature>, <@phone> | <@signature> (<@email>)
signature = <unisex> *5 | <@first>. <@own> *3 | <unisex> <@own> *2
first = <initial>
own = <surname>

woman! = Amina | Beatrice | Carmen | Daniela | Edith | Fatima | Greta | Hannah | Ingrid | Joanna | Katya
  | Leila | Maria | Nadia | Olga | Priya | Rosa | Sofia | Tamara | Ulrike | Valerie | Wanda | Yasmin
  | Zainab | Alice | Bridget | Clara | Dolores | Emma | Frances | Helen | Irene | Julia | Lucy | Mei | Nora
  | Ruth | Sarah | Teresa | Vera
man! = Ahmed | Boris | Carlos | Dmitri | Edward | Farid | Gustav | Henrik | Ivan | Jonas | Karim | Leon
  | Marco | Nikolai | Oscar | Pedro | Rafael | Stefan | Tomas | Umar | Viktor | Walter | Xavier | Yusuf
  | Anton | Benedict | Colin | Daniel | Felix | George | Hassan | Isaac | Jakob | Kenji | Liam | Martin
  | Noel | Patrick | Samuel | Theo
unisex! = Alex | Andy | Ash | Billie | Casey | Charlie | Chris | Devon | Frankie | Jamie | Jo | Jordan | Kim
  | Lee | Morgan | Pat | Quinn | Robin | Sam | Sasha | Taylor
name he = <man>
name she = <woman>
anyone = <man> *4 | <woman> *4 | <unisex> *3
surname! = Abbott | Adeyemi | Alvarez | Andersen | Banerjee | Becker | Brandt | Castillo | Chaudhry | Costa
  | Delgado | Dubois | Eriksen | Farouk | Fischer | Fontaine | Garcia | Gruber | Haddad | Hoffman | Ibrahim
  | Ionescu | Jensen | Kaplan | Keller | Kowalski | Kumar | Larsson | Lindqvist | Lopez | Marchetti | Mbeki
  | Mendes | Moreau | Nakamura | Nguyen | Novak | Okafor | Olsen | Osei | Papadakis | Patel | Petrov
  | Quigley | Ramirez | Rossi | Sato | Schneider | Silva | Tanaka | Thompson | Ueda | Vargas | Virtanen
  | Wallace | Weber | Whitfield | Yamada | Yilmaz | Zielinski
initial = B | C | D | E | F | G | H | J | K | L | M | N | P | R | S | T | V | W
kin = my <brother/sister> *3 | my <father/mother> *3 | my <uncle/aunt> | my <son/daughter> *3
  | my <husband/wife> *2 | my <grandfather/grandmother> *2 | my cousin [<@name>] | my neighbour <@name>
  | my <nephew/niece> | <@name> *3

town! = <near> *4 | <far>
town! travel = <near>
near = Aberdeen | Antwerp | Bergen | Bilbao | Bologna | Brighton | Bristol | Bruges | Cardiff | Cologne
  | Cork | Dresden | Dublin | Edinburgh | Galway | Geneva | Ghent | Glasgow | Graz | Hamburg | Helsinki
  | Leeds | Leipzig | Lisbon | Liverpool | Lyon | Malmo | Manchester | Marseille | Naples | Nice | Norwich
  | Oslo | Oxford | Porto | Prague | Riga | Salzburg | Seville | Sheffield | Turin | Utrecht | Valencia
  | Vienna | Vilnius | Warsaw | York | Zurich
far = Austin | Boston | Calgary | Chicago | Denver | Kyoto | Montreal | Ottawa | Portland | Seattle | Tampa
  | Toronto | Cape Town | Santiago | Perth
country! = Portugal | Norway | Japan | Morocco | Canada | Greece | Peru | Iceland | Kenya | Poland | Vietnam
  | Chile | Turkey
street = <tree> [Street|Road|Lane|Avenue|Close]
tree = Acorn | Beech | Bridge | Castle | Cedar | Chapel | Church | Elm | Garden | Harbour | Hazel | High
  | Hill | Juniper | King | Lake | Linden | Market | Meadow | Mill | Orchard | Park | Poplar | Queen | River
  | School | Station | Willow
address = ^# <street> *3 | ^## <street> *2 | ^# <street>, <town> *3 | flat ^, ^# <street>

weekday! = Monday | Tuesday | Wednesday | Thursday | Friday | Saturday | Sunday
month = January | February | March | April | May | June | July | August | September | October | November
  | December
day = ^ *9 | 1# *10 | 2[0|1|2|3|4|5|6|7|8] *9
date! = <day> <month> *5 | <month> <day> *4
  | the [1st|2nd|3rd|4th|5th|6th|7th|8th|9th|1[0|1|2|3|4|5|6|7|8|9]th|21st|22nd|23rd|25th] of <month> *2
  | <day> <month> 20[19|20|21|22|23|24|25] | [0^|10|11|12]/[0^|1#|2[0|1|2|3|4|5|6|7|8]]
birthday = <day> <month> [19[4|5|6|7|8|9]#|200#]
clock! = <noonward> *5 | [7|8|9|10|11][:15|:30|:45|_ *3] am *3 | half past <hour>
  | a quarter [to|past] <hour> | noon | [7|8|9|10|11|12|1|2|3|4|5|6][:00|:10|:20|:30|:40|:50] *2
noonward = [1|2|3|4|5|6|7|8|9][:15|:30|:45|_ *3] pm
hour = one | two | three | four | five | six | seven | eight | nine | ten
evening = [6|7|8][:15|:30|:45|_ *3] pm *4 | half past [six|seven|eight] | eight
late = [10|11][:30|_] pm *3 | midnight *2 | half past [ten|eleven] | [one|two|three] in the morning
few = two *3 | three *3 | four *2 | five | six
span = <few> days *2 | <few> weeks *2 | <few> months | almost a [week|month|year] | more than a week
  | nine days
past = yesterday *2 | last <weekday> *3 | on <weekday> *2 | on <date> *6 | <span> ago *3 | this morning
  | last night | on <weekday> at <clock> | in <month> *2 | the other day
outing! = tomorrow | on <weekday> *2 | on <date> *3 | next <weekday> *2 | tonight
  | on <date> at [7|8|9] pm *2 | this <weekday> at [6:30|7:15|7:30|8:15] pm *2
future = tomorrow | tomorrow at <clock> *2 | next <weekday> *2 | on <weekday> *2 | on <date> *5
  | at <clock> on <weekday> *2 | this <weekday> at <clock> *2 | in <few> weeks | next month
  | on <date> at <clock> *2 | tonight | this afternoon

sign dollar = $
sign pound = £
sign euro = €
coin dollar = dollars
coin pound = pounds
coin euro = euros
digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
nonzero = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
letter = A | B | C | D | E | F | G | H | J | K | L | M | N | P | R | S | T | U | W | X | Z
money = <sign>^# *5 | <sign>[1|2|3|4]## *3 | <sign>^#.## *4 | <sign>[1|2]^0 | <sign>1^#.^# *2
  | [thirty|forty|sixty|seventy|ninety] <coin> *2 | ^0 <coin> | ^#.^# <coin>
fee = <sign>[1|2|3]# *4 | <sign>^.^0 *2 | [ten|twelve|fifteen|twenty|thirty|forty] <coin> *3
  | <sign>[1|2|3]#.50
sum = <sign>^,##0 *4 | <sign>[6|7|8|9]## *2 | ^,#00 <coin> *2 | <sign>1#,^00 *2
rent = <sign>[1|2|3],^#0 *2 | <sign>[6|7|8|9]## *2 | [7|8|9]00 <coin>
wage = <sign>[2|3|4|5],^#0 *3 | [2|3|4],^00 <coin>
price = <sign>[1|2|3|4|5|6]##,000 *3 | <sign>[1|2|3|4|5]^#,500
phone! = 555-01## *5 | <area>-555-01## *4 | (<area>) 555-01## *2 | +1 <area> 555 01##
area = 202 | 206 | 212 | 215 | 303 | 305 | 312 | 404 | 415 | 503 | 512 | 617 | 702 | 713 | 808 | 901
email = <mailbox>@example.[com|org|net] *4 | <mailbox>@[mail|post|office].example *2
mailbox = <@first>.<@own> *4 | <@own>^# *2 | <@first><initial>.<@own> | <@own>.<@first>
code = <letter><letter>^#### *2 | <letter>^#<letter>##<letter> *2 | ^#### *2 | ^##-### | <letter>-^###
"""
