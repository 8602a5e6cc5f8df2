"""Word material of the demo corpus on work, school and leisure, in the language of `_grammar`."""

TEXT = """
to work = <anyone> *4 | <Mr/Ms> <surname> *2 | team
client = the client in <town> | <surname> and Partners | the ministry | our supplier in <country>
  | the <town> office
paper = report | contract | budget | press release | invoice | proposal | slide deck | survey | spreadsheet
  | job ad | audit
post = nurse | bookkeeper | site manager | translator | junior lawyer | driver | data analyst | receptionist
  | editor | cook
gathering = meeting | workshop | interview | site visit | sales call | training | board meeting | appraisal
complaint work = <@name> has [taken credit for|deleted|rewritten] my <@paper> [for <@client>|without
    asking|again].
  | I have worked every <weekday> since <month> and [my overtime is still unpaid|nobody has noticed].
  | the [heating|coffee machine|server|car park gate] at the <town> office has been [broken|down] since
    <date>.
  | <@name> [shouted at|made jokes about|keeps interrupting] the new <@post> [in the <@gathering>|in front
    of <@client>]. | I was left out of the <@gathering> with <@client>.
  | you changed my shift [on <date>|for <weekday>] [without telling me|at <clock> the night before].
slight work = the <@gathering> <past> lasted <few> hours and [decided nothing|ended in shouting|could have
    been an email].
  | HR [lost my file|gave my salary to the wrong <surname>|pinned my sick note to the board] <past>.
  | <@name> takes <few> coffee breaks an hour and still [earns <wage>|calls me lazy].
  | my desk is now in [the corridor|a storeroom|<town>], next to the <@post>.
demand work = I want this [on record|fixed|discussed] before the <@gathering> [on <date>|<future>].
  | I expect an answer by <date>. | I have copied in <Mr/Ms> <surname>.
  | please [talk to <@name>|hire another <@post>|answer by <clock>]. | this has to stop.
overcharge work = my pay for <month> is <@money> short.
  | the taxi to <@client>, <@money>, was [never paid back|rejected].
  | <@client> has not paid invoice <code> for <@money> [since <month>|despite two reminders].
  | accounting took <@money> off my wages for [a broken laptop|lunch|a day in <month>].
bad work = I will lose my job as a <@post> on <date> | <@client> is about to leave us
  | the <@paper> for <@client> has a mistake of <sum> | <@name> wants to fire the <@post>
  | I did not get the job as a <@post> in <town> | my boss, <surname>, reads our messages
  | I sent the <@paper> to the wrong <surname> | the office is moving to <town> in <month>
secret work = I have an interview with <@client> <future> | I earn <wage> a month
  | I copied the <@paper> from <@name> | I was not ill <past> | I fell asleep during the <@gathering> <past>
  | I am leaving the firm on <date> | I sent the <@paper> to <@client> from <initial>.<surname>@example.com
  | <Mr/Ms> <surname> and I are a couple | I never finished my degree
good work = I got the job as a <@post> in <town> | <@client> accepted the <@paper> <past>
  | my pay goes up to <wage> in <month> | <@name> was made head of the <town> office
  | we finished the <@paper> <few> days early | <@client> paid invoice <code>
  | I may work from <town> from <date> | our <@post> is coming back <future>
praise work = <@name> handled <@client> <so> [calmly|well|smoothly] in the <@gathering> <past>.
  | your <@paper> for <@client> was <so> [clear|sharp|useful], and [the board|<@name>|everyone] said so.
  | the new <@post>, <@name>, is <so> [quick|careful|cheerful] and [already runs the <@gathering>|saved us
    <sum>]. | the [team|night shift|<town> office] did [great|wonderful|solid] work on the <@paper>.
helping work = your help with the <@paper> | the kind words in the <@gathering> <past>
  | the raise of <money> | your cover on <weekday> | the reference for the job as a <@post>
  | the late night with <@client> <past> | the lift to the <town> office
ask work = who is [chairing|taking notes in] the <@gathering> <future>?
  | can you [cover|take over] my shift on <weekday>? | when is the <@paper> for <@client> due?
  | how much did we quote <@client>, <sum> or <sum>? | is the post of <@post> still open?
  | where did you save the <@paper>? | which room is the <@gathering> in?
  | may I [work from home|leave at <clock>|bring my dog] <future>?
open work = <@name> has read the <@paper> | <@client> agreed to <sum>
  | the <@gathering> was moved to <clock> | we need a <@post> in <town> | there is money for a <@post>
  | <Mr/Ms> <surname> is back from <town>
do work = send the <@paper> to <@email> by <clock> | move the <@gathering> to <weekday>
  | call <@client> on <phone> | book a room for the <@gathering> | check the figures in the <@paper>
  | add <@name> to the <@gathering> | approve my leave from <date> | sign off invoice <code>
act work = finish the <@paper> for <@client> | prepare the <@gathering> with <@client>
  | train the new <@post> | ask <@name> for a raise | send <@client> the <@paper> | hand in the time sheet
  | meet <@name> about the <@paper> | drive to the <town> office
due work = the <@gathering> with <@client> is <future> | the <@paper> must reach <@client> by <date>
  | <@name>'s last day is <date> | passwords expire <future> | invoice <code> for <sum> is due on <date>
report work = I started as a <@post> in <town> on <date>.
  | the <@gathering> with <@client> is in room ^##, <clock>.
  | staff number <code>, 1^# hours in <month>, <wage>.
  | <@name> is on leave until <date>, so ask <anyone> about the <@paper>.
  | we offered <@client> <sum> for the <@paper> <past>.
  | <@name> applied for the job as a <@post> and can start on <date>.
short work negative = <@name> quit <past>. | <@paper> rejected again. | no raise this year.
  | fired on <date>. | another pointless <@gathering>. | the server is down. | so tired of <@client>.
short work positive = I got the job! | great <@gathering>, well done. | <@client> said yes!
  | raise approved, finally! | nice <@paper>, <anyone>. | last day before holidays!
short work neutral = <@gathering> at <clock>. | where's the <@paper>? | ask <anyone> in HR.
  | <@paper> sent <past>. | room ^##, <clock>. | running late, start without me. | invoice <code>, <sum>.

to school = <Mr/Ms> <surname> *4 | <anyone> *2
pupil = my <son/daughter> <@name> | <@name> | my <nephew/niece> | our eldest | our youngest
subject = maths | history | chemistry | geography | French | physics | music | biology | art | Latin
  | geometry
task = essay | presentation | homework sheet | lab report | project
test = exam | test | resit | oral exam | quiz
building = gym | canteen | library | science lab | playground | main hall | art room
complaint school = <Mr/Ms> <surname> marked the <@subject> <@task> [without reading it|a week
    late|unfairly].
  | <@pupil> has been [teased|pushed|called names|left out] in the <@building> since <month>.
  | the <@test> on <date> covered [chapters|topics] nobody had [taught|mentioned] in class.
  | there [has been no <@subject> lesson|have been <few> different <@subject> teachers] since <date>.
  | you [lost|mixed up|posted] the [grades|forms|photos] of the whole class <past>.
  | the school bus [left <@pupil> behind|was <few> stops short|drove past] <past> [in the rain|at <clock>].
slight school = the food in the canteen is so [greasy|cold|dull] that <@pupil> [won't eat it|comes home
    hungry]. | <Mr/Ms> <surname> [falls asleep in|shouts through|reads the news in] <@subject>.
  | there is so much homework in <@subject> that <@pupil> [is up until <late>|has dropped football].
  | half the class [cheated in|skipped] the <@subject> <@test>, and I [got the blame|was the one caught].
demand school = I want [a meeting|a word] with <Mr/Ms> <surname> before <date>. | please look into it.
  | please move <@pupil> to another class. | what will the school do about it?
  | <@pupil>'s student number is <code>. | please put this in writing.
overcharge school = the school asks for <@money> for a trip to <town> that was [cancelled|free last year].
  | we paid <@money> for <@subject> lessons that never [took place|started].
  | the fee for <month> was <@money> too high. | <@pupil> lost a library book and you want <@money> for it.
bad school = <@pupil> failed the <@subject> <@test> | <@pupil> has been skipping <@subject> since <month>
  | my student loan of <sum> was refused | <@pupil> may have to repeat the year
  | the teacher saw <@pupil> smoking behind the <@building> | I forgot everything in the <@test> <past>
  | my <@task> was due <past>, and I have not begun | <@pupil> cries every <weekday> before school
secret school = I copied the <@subject> <@task> | I failed <@subject> in 20[10|12|15|17|19|21|22]
  | I paid <anyone> <money> for the <@task> | I dropped out in <month>
  | I forged the signature of <Mr/Ms> <surname> | I was the one who flooded the <@building>
  | I never learned to [read well|swim|spell] | I saw the <@test> before <weekday>
good school = <@pupil> passed the <@subject> <@test> | I got into the university in <town>
  | <@pupil> won the <@subject> prize <past> | the <@task> got [full marks|the best grade in the class]
  | I have a grant of <sum> for <town> | <@name> can read now | our school choir is invited to <town>
  | I graduated in <@subject> on <date>
praise school = <Mr/Ms> <surname> makes <@subject> so [lively|clear|much fun|interesting] that <@pupil>
    [asks for more|wants to teach it].
  | the school [play|concert] in the [main hall|gym|park] <past> was <so> [funny|touching|well sung], and
    <@name> [shone|forgot nothing].
  | <@pupil> loves the new [<@building>|<@subject> club|teacher] [in <town>|on <street>].
  | the [poem|story|article] <@pupil> wrote about <town> was <so> [thoughtful|original|good].
helping school = your help with the <@subject> <@task> | the extra lessons in <@subject>
  | your patience with <@pupil> | the grant of <sum> | the trip to <town> <past> | the letter of reference
  | the notes from <@subject> <past>
ask school = when is the <@subject> <@test>? | what did I miss in <@subject> <past>?
  | can <@pupil> bring [a guitar|the dog|a friend] to the <@building>?
  | how much is the trip to <town>, <money>? | which pages are in the <@subject> <@test>?
  | is <Mr/Ms> <surname> ill [again]? | may I hand in the <@task> <future>?
  | who teaches <@subject> [this year|after <month>]?
open school = the <@test> counts | the <@building> is open on <weekday> | <@pupil> may leave at <clock>
  | there is <@subject> <future> | I need <@subject> for the degree in <town>
  | <Mr/Ms> <surname> got my <@task>
do school = excuse <@pupil> from <@subject> on <date> | send the <@subject> notes to <@email>
  | sign the form for <town> | move the <@test> to <weekday> | tell <@pupil> to wait in the <@building>
  | check the grade for student <code> | let <@pupil> use the <@building> after class
act school = finish the <@subject> <@task> | hand in the <@task> | pay the <money> for the trip to <town>
  | study <@subject> with <@name> | return the books to the library
  | talk to <Mr/Ms> <surname> about <@subject> | register for the <@test>
due school = the <@subject> <@test> is <future> | parents' evening is <future> in the <@building>
  | the form for <town> is due on <date>
  | school [ends|starts] at [noon|8:15|8:45|11:30] on [<weekday>|<date>]
  | the trip to <town> costs <money>, payable by <date>
report school = <@pupil> is in class [5|6|7|8|9][a|b|c] with <Mr/Ms> <surname>.
  | my student number is <code>, born <birthday>.
  | <@pupil> was ill <past> and missed <few> hours of <@subject>.
  | the class meets at <clock> in the <@building>. | we had <few> hours of <@subject> <past>.
  | <@pupil> got ^# points in the <@subject> <@test>.
short school negative = failed <@subject> again. | no friends here. | <@subject> is killing me.
  | <Mr/Ms> <surname> hates me. | detention on <weekday>. | lost my <@task>. | three tests on <weekday>!
short school positive = passed <@subject>! | full marks in <@subject>! | no school until <date>!
  | <Mr/Ms> <surname> liked my <@task>. | <town> wants me! | best class trip ever!
short school neutral = <@subject> at <clock>. | <@task> due <date>. | which page in <@subject>?
  | meet in the <@building>. | student number <code>. | is <@subject> cancelled <future>?
  | bring the <@subject> book.

to leisure = <anyone> *5 | folks | all
venue = the community centre [in <town>] | the sports hall on <street> | the old school in <town>
  | the clubhouse | the parish hall | the youth club on <street> | the leisure centre
stage = the theatre on <street> | the stadium in <town> | the jazz bar | the <tree> Street arts centre
  | the open-air stage [in <town>] | the town hall | the concert hall in <town>
eatery = the bistro on <street> | the harbour inn | the tapas bar in <town> | Cafe <surname>
  | the noodle bar | the pub on <street> | the pizzeria in <town> | the beer garden
pastime = chess | tennis | yoga | archery | karate | badminton | pottery | fishing | salsa | poker | rowing
  | knitting

sport = chess | tennis | badminton | poker | squash | table tennis | darts | volleyball | backgammon | bowls
show = concert | film | play | match | comedy night | exhibition | ballet | festival | quiz night
  | poetry reading
dish! = paella | lamb stew | mushroom risotto | fish soup | curry | pumpkin pie | ramen | goulash
  | noodle salad
complaint leisure = our <@pastime> group has been [cancelled|left without a coach|locked out] [twice|three
    times|four times] since <month>.
  | the waiter at <@eatery> spilled <@dish> on <@kin> and [laughed|walked off|blamed <him/her>].
  | we queued for <few> hours at <@stage>, and the <@show> [started late|was sold out|was over by
    <evening>].
  | the <@dish> at <@eatery> was [cold|burnt|raw inside|half the size], and <@name> was [sick|ill] all
    night.
  | I lost my seat ^# at the <@show> because [the usher let <@name> in|your website was wrong|you sold it
    twice].
slight leisure = the <@show> at <@stage> <past> was so [dull|loud|long|badly lit] that [half of us
    left|<anyone> fell asleep].
  | <@name> [cheats at <@sport>|is always late for <@pastime>|talks all through the <@show>], and nobody
    says a word.
  | our <@pastime> group has turned into a [beauty contest|drinking club|shouting match] since <@name>
    joined.
demand leisure = please [explain this|let us know why|say sorry] by <date>.
  | I want [an explanation|an answer|an apology], not a voucher.
  | take me off the list [for <@pastime>|of members]. | my member number is <code>.
  | next time we'll go somewhere else.
overcharge leisure = two tickets for the <@show> cost <@money> and we saw [nothing|a pillar|ten minutes of
    it]. | <@venue> charged me <@money> for a <@pastime> course that was [full|cancelled|only online].
  | we paid <@money> for <@dish> and [water|a broken chair].
  | the club took <@money> in <month> although I had left.
bad leisure = I can't come to the <@show> <outing> | my ticket, number <code>, is a fake
  | <@name> broke an arm at <@pastime> <past> | our team lost the <@sport> final in <town>
  | <@venue> is closing in <month> | nobody signed up for <@pastime> <future>
  | I lost the ring at <@venue> <past> | <@name> doesn't want to see us any more
secret leisure = I hate <@pastime> | I went to the <@show> with <anyone> <past> | I lost <sum> at poker
  | I let <@name> win at <@sport> | I have a date with <anyone> at <@venue> <future>
  | I have never [cooked|eaten] <@dish> in my life | I told <@name> I was in <town> <past>
  | I met <anyone> online <span> ago
good leisure = we won the <@sport> final in <town> | I got two tickets for the <@show> <outing>
  | <@name> is back at <@pastime> | <@venue> is open again | my photo of <town> won <money>
  | <@name> asked me to the <@show> <outing>
  | I swam [two|three] kilometres across the lake near <town> <past>
praise leisure = the <@show> at <@stage> <past> was <so> [moving|funny|exciting|well played].
  | the <@dish> at <@eatery> is the best [I have ever had|for miles|on the menu].
  | <@name> is a [gifted|very fair|really patient|wonderful] <@pastime> teacher, and <fee> [a month|an hour]
    is nothing.
  | dinner with <@name> at <@eatery> was [a delight|such fun|just what I needed]: <@dish>, wine and [old
    songs|silly jokes].
  | <@pastime> on <weekday> [is the best part of my week|keeps me sane|has changed my life].
helping leisure = the tickets for the <@show> | the <@dish> | the fun evening at <@venue> <past>
  | the <@pastime> lesson | the lift to <town> | the birthday surprise at <@venue>
  | the invitation to the <@show>
ask leisure = what time does the <@show> [start|end] <future>?
  | do you fancy <@pastime> [at <@venue>|<future>]? | who else is coming to <@venue>?
  | how much are tickets for the <@show>, <fee>? | can a beginner join <@pastime> on <weekday>?
  | shall I cook <dish> or <dish> for <@name>? | do you have the number of <@venue>?
  | is there a seat left next to ^#?
open leisure = <@venue> is open on <weekday> | <@name> plays <@sport>
  | there are tickets for the <@show> left | <@eatery> serves <@dish> | the <@show> is in English
  | we need to book for <@pastime>
do leisure = book a table for <few> at <@eatery> at <evening> | keep a ticket for <@name>
  | bring [the rackets|your guitar|a blanket] to <@venue> | send the recipe for the <@dish> to <@email>
  | sign me up for <@pastime> on <weekday> | meet us at <address> at <clock>
act leisure = cook <@dish> for <@name> | go to the <@show> with <@name> | try <@pastime> at <@venue>
  | get tickets for the <@show> | invite <@name> to <@venue> | practise for the <@sport> final
  | pay the <money> for <@pastime> | call <@venue> on <phone>
due leisure = the <@show> at <@stage> starts at <evening> | <@pastime> is <future> at <@venue>
  | the tickets for the <@show> must be paid by <date>
  | we meet at <address> at <clock>, and <@name> brings the <@dish>
  | the club fee of <money> is due on <date>
report leisure = <few> seats for the <@show>, row ^, booking <code>.
  | I play <@sport> with <@name> every <weekday> at <clock>.
  | the table at <@eatery> is booked under <surname> for <evening>. | <@name> is at <@venue> until <late>.
  | my member number is <code>. | I saw the <@show> in <town> with <@name> <past>.
  | tickets for the <@show> are <fee>, and half that for children.
short leisure negative = <@show> cancelled again. | bored to tears. | worst <@dish> ever.
  | we lost, [0|1|2]-[3|4|5|6]. | nobody came to <@pastime>. | missed the <@show>. | <@venue> was dead.
short leisure positive = what a <@show>! | we won, ^-0! | best <@dish> ever! | <@pastime> was great fun.
  | loved the <@show>, <anyone>! | front row tonight!
short leisure neutral = <@pastime> at <clock>? | table for <few>, <evening>. | <@show> on <date>.
  | who brings the <@dish>? | row ^, seat ^#. | at <@venue> with <anyone>. | your turn to cook.
"""
