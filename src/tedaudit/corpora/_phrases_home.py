"""Word material of the demo corpus on health, family and housing, in the language of `_grammar`."""

TEXT = """
to health = Dr <surname> *3 | nurse <surname> | <anyone>
to health neutral = <anyone> *4 | <Mr/Ms> <surname>
doctor = Dr <surname>
clinic = the clinic [in <town>|on <street>] *3 | <town> General Hospital | the <tree> Street surgery
  | St <man>'s | the health centre [in <town>] | the eye hospital
pharmacy = the pharmacy [on <street>|at the station|in <town>]
exam = blood test | X-ray | MRI scan | biopsy | check-up | ultrasound | hearing test | eye test
  | allergy test | lung test
drug! = ibuprofen | insulin | cortisone | amoxicillin | metformin | sertraline | iron | codeine | ramipril
  | melatonin
body = knee | shoulder | ankle | wrist | lower back | neck | jaw | hip | left ear | right eye | elbow
  | thumb
illness = migraine | asthma | back pain | eczema | insomnia | anxiety | diabetes | hay fever | arthritis
  | depression
complaint health = I waited [over|nearly|almost] <few> hours at <@clinic> <past> and was [sent home|told to
    come back|handed a leaflet].
  | the receptionist at <@clinic> [read out|sent|gave] my <@exam> results to [the wrong patient|a
    stranger|my employer]. | nobody at <@clinic> has [called|written to] me about my <@exam> since <date>.
  | the <@drug> [that] <@doctor> prescribed <past> [gives me a rash|makes me dizzy|keeps me awake|does
    nothing].
  | my appointment with <@doctor> on <date> was cancelled [without a word|for the third time|an hour
    before]. | <@pharmacy> [gave me the wrong dose of|has run out of|refuses to order] <@drug>.
slight health = <@doctor> [barely looked at|spent two minutes on|never examined] my <@body> and blamed
    [stress|my age|my weight].
  | the ward where <@kin> has been since <weekday> is [dirty|noisy|short of nurses|freezing at night].
  | it takes until <date> to get a <@exam> in <town>, [even with pain like this|and nobody cares].
  | <@doctor> talked about my <@illness> [in front of the whole waiting room|as if I were a child].
demand health = please call <@kin> and explain. | I want [a new appointment|an answer] before <date>.
  | I would like to see [another doctor|Dr <surname> instead|a specialist in <town>].
  | please check patient number <code>. | who is responsible for this?
  | somebody should [apologise to <@kin>|look into it|call me today].
overcharge health = I was [charged|billed] <@money> for a <@exam> that [my insurance covers|never took
    place|was free].
  | <@clinic> wants <@money> because I [was ten minutes late|missed the <@exam>|moved my appointment].
  | my insurance, policy <code>, [refuses to pay|has rejected] the <@money> for the <@exam> [on <date>|in
    <town>].
bad health = my <@exam> results from <date> [are not good|show something on the <@body>|have been lost]
  | <@kin> has to go back to hospital <future>
  | the <@illness> is getting worse [every week|since <month>|again]
  | my <@body> [hurts|is swollen|has gone numb] again and the <@drug> doesn't help
  | <@kin> fell [on the stairs] <past> | <@doctor> wants another <@exam> <future>
  | I found a lump near my <@body> | <@kin> no longer recognises me
secret health = I stopped taking the <@drug> <past> | I have been smoking again since <month>
  | I skipped the <@exam> <past> | I lied to <@doctor> about my drinking
  | I have been seeing a therapist in <town> since <month> | I have <@illness>
  | I borrowed <sum> for the operation | I spent the night at <@clinic> <past>
  | I take twice the <@drug> [that <@doctor> allows|I should]
good health = the <@exam> came back clear | <@doctor> says my <@body> has healed
  | <@kin> came home from hospital <past> | I have not had a single attack since <month>
  | the new <@drug> is working | <@name> and <anyone> had a healthy baby <past>
  | I ran ten kilometres <past> with my new [knee|hip] | my <@illness> has [nearly] gone
  | I have not smoked since <date>
praise health = <@doctor> was <so> [kind|patient|thorough|reassuring] [<past>|about my <@illness>|with
    <@kin>].
  | the [nurses|night staff|midwives] at <@clinic> looked after <@kin> [wonderfully|like family|with great
    care]. | <@doctor> found the cause of my [headaches|cough|dizziness|<@body> trouble] in ten minutes.
  | best [dentist|physiotherapist|optician] in <town>: [no waiting|no pain|gentle hands] and only <money>.
helping health = the quick appointment <past> | your advice about my <@illness> | the lift to <@clinic>
  | your care for <@kin> | the kind words before the <@exam> | the extra hour with <@kin> <past>
  | the soup and the flowers
ask health = how long should I take the <@drug>? | can I have the <@exam> in <town> instead?
  | is <@doctor> in on <weekday>? | what does [a|the] <@exam> cost without insurance?
  | should I [fast|stop the <@drug>] before the <@exam> [<future>]?
  | is it normal that my <@body> still hurts [after <few> weeks|at night|in the morning]?
  | can <@kin> drink wine with <@drug>?
  | when may I [drive|swim|work|lift things] again after the operation? | does <@illness> run in families?
open health = <@clinic> is open on <weekday> | <@doctor> takes new patients
  | I need a referral for the <@exam> | <@drug> goes with <drug> | my insurance pays for the <@exam>
  | <@kin> can have visitors <future>
do health = move my appointment with <@doctor> to <weekday> at <clock>
  | send the <@exam> results to <@email> | renew the prescription for <@drug>
  | forward my file, number <code>, to Dr <surname> in <town> | put <@kin> on the list for the <@exam>
  | call <@pharmacy> about the <@drug> | write a sick note until <date>
act health = pick up the <@drug> from <@pharmacy> | see <@doctor> about the <@body> | book the <@exam>
  | drive <@kin> to <@clinic> | get the flu shot | visit <@kin> at <@clinic>
  | cancel the <@exam> at <@clinic> | ask <@doctor> about the <@illness>
due health = your <@exam> with <@doctor> is <future>
  | the <@drug> has to be taken [with food|at <clock>|twice a day]
  | [nothing to eat|only water] after <clock>, because the <@exam> is <future>
  | visiting hours end at <clock>
report health = my insurance number is <code> and I was born on <birthday>.
  | <@kin> is in room ^#, <@clinic>, until <weekday>.
  | I take ^0 mg of <@drug> [every morning|before meals|at night] for my <@illness>.
  | I had a <@exam> at <@clinic> <past>.
  | <@doctor> [measured|noted] a weight of [5|6|7|8]# kilos and a pulse of [6|7|8]# <past>.
  | <@kin> is allergic to <@drug>.
short health negative = my <@body> still hurts. | no results yet. | fever again, staying home.
  | awful night, no sleep. | <@doctor> cancelled again. | the <@illness> is back.
  | out of <@drug> since <weekday>. | <@kin> is ill again.
short health positive = the <@exam> was fine! | no fever since <weekday>! | <@kin> is home again.
  | great talk with <@doctor>. | my <@body> feels better. | slept well, finally.
  | <@name> and <anyone> had a boy! | thank you, <@doctor>!
short health neutral = <@exam> moved to <clock>. | <@doctor>, room ^#, <clock>.
  | have you taken the <@drug>? | <@exam> on <date>. | on my way to <@clinic>. | which <@body> was it?
  | patient number <code>, please.

to family = Mum *3 | Dad *3 | <anyone> *3 | darling | Grandma
feast = birthday party | wedding | christening | anniversary | graduation party | housewarming
  | retirement party
toy = wooden train | dollhouse | football | puzzle | kite | telescope | tricycle | chess set | teddy bear
  | paint box
complaint family = you promised to [call|visit|help] <past> and we [sat here for nothing|heard
    nothing|waited until <clock>].
  | you [read|showed <@name>|laughed at] my [messages|diary|letters] without asking.
  | <@name> has lived in our spare room since <month> and never [cooks|cleans|says thank you|pays a thing].
  | the children were [up|alone] until [ten|midnight|past eleven] <past>.
  | you [shouted at|made fun of|ignored] <@name> [in front of everyone|at the <@feast>|for the whole
    weekend].
slight family = nobody [told|asked|warned] me about the <@feast> in <town> [until <past>].
  | it was <@name>'s <@feast> <past> and you forgot it again.
  | <@name> gave the <@toy> I had [saved for|made by hand] [to charity|to the neighbours|to <anyone>].
  | all <@name> ever talks about is [money|football|<anyone>|that <@feast> in <town>].
demand family = please [ring|apologise to|talk to] <@name> [tonight|yourself|before <weekday>].
  | we have to talk <future>. | I want you to [say sorry|think about it|sort this out] before the <@feast>.
  | next time, ask me first. | don't [do that|come home like that|speak to me] again.
overcharge family = you still owe <@kin> <@money> for the <@feast>.
  | I lent <@name> <@money> <past> and never saw it again.
  | somebody took <@money> from [my purse|the jar in the kitchen|Grandma's drawer] <past>.
  | you spent <@money> on a <@toy> when we can't pay the [gas|dentist|rent].
refund family = please give it back [before the <@feast>|by <weekday>]. | that money was for the <@feast>.
  | I need the <@money> [by <date>|for the dentist|now]. | was it you? | we agreed to share the cost.
bad family = <@name> wants a divorce [after <few> years] | <@kin> and I have not spoken since the <@feast>
  | <@name> was [arrested|seen drunk|beaten up] in <town> <past> | <@kin> will be alone at the <@feast>
  | <@name> [moved out|left home] <past> and took the [dog|car|savings]
  | our dog Biscuit [died|ran away] <past> | the nursing home in <town> costs <wage> a month
  | <@name> has stopped eating since the <@feast>
secret family = I am not coming to the <@feast> | I met my real <father/mother> in <town> <past>
  | I broke the <@toy> | we are expecting a child in <month> | I voted against the sale of the house
  | I read <@name>'s diary <past> | I married in <town> on <date> | I still write to <anyone>
  | Grandma left me <sum> | I was adopted in 19[5|6|7|8|9]#
good family = <@name> [is pregnant|got engaged in <town>|passed the driving test]
  | the baby arrived <past>, [3|4].# kilos | <@kin> is coming to the <@feast> after all
  | <@name> learned to [walk|swim|ride a bike] <past> | <@name> and <anyone> are getting married on <date>
  | Grandma turned ninety <past> | we found our cat in <street> | the adoption went through <past>
  | all the cousins will be in <town> <future>
praise family = the <@feast> in <town> was <so> [lovely|moving|funny|beautiful].
  | <@name> gave a [wonderful|hilarious] speech.
  | the <@toy> is perfect, and <@name> [takes it to bed|has not put it down|shows it to everyone].
  | <@name> [cooked|baked|sang|painted] for the whole family <past>, and it was <so> good.
  | I'm <so> proud of <@name>, who [stood up to the bully|won a medal|looked after Grandma] <past>.
helping family = the <@toy> | your help at the <@feast> | the lovely weekend in <town>
  | the <fee> for <@name>'s birthday | the photos of <@name> from <town> | your patience with <@kin>
  | the cake and the flowers
ask family = who is picking up <@name> [from the station|from practice] <future>?
  | what should we give <@name> for the <@feast>?
  | can you [babysit|walk the dog|have <@name> over] <future>? | how old will <@name> be on <date>?
  | do you still have the recipe for Grandma's [plum cake|lentil soup|dumplings]?
  | is <@kin> still in <town>? | shall we share a <@toy> for <@name>, about <fee> each?
  | where was Grandpa born, <town> or <town>?
open family = <@name> eats [meat|fish|nuts] | <@kin> is coming to the <@feast>
  | Grandma has a bed for <@name> <future> | the <@feast> is in <town> | <anyone> still lives at <address>
  | <@name> would like a <@toy>
do family = pick <@name> up from <address> at <clock>
  | bring [a cake|folding chairs|the <@toy>] to the <@feast>
  | send me the photos from the <@feast> at <@email> | look after <@name> on <date> | ring <@kin> on <phone>
  | tell <@kin> that the <@feast> starts at <clock> | mail the <@toy> to <address>
act family = call <@kin> on <phone> | buy a <@toy> for <@name> | book a table for the <@feast>
  | visit <@kin> in <town> | bring the <@toy> back to <@name> | fetch <@kin> from the airport in <town>
  | bake a cake for the <@feast>
due family = <@name>'s <@feast> is <future>
  | dinner is at <evening> [sharp], and <@name> doesn't eat [meat|cheese|fish]
  | <@name> has [swimming|choir|the dentist] at <clock> | the train from <town> gets in at <clock>
report family = <@name> was born in <town> on <birthday>.
  | the <@feast> is at <address>, <date>, from <noonward>.
  | <@kin> moved to <town> <past> and now lives at <address>. | <@name>'s new number is <phone>.
  | there will be [six|seven|eight|nine] of us for dinner: <anyone>, <anyone> and the children, too.
  | <@name> stays with us until <date>.
short family negative = you forgot <@name> again. | I miss <@kin>. | <@name> won't talk to me.
  | no call for <span>. | we fought again <past>. | Grandpa is getting worse. | the dog ran off.
short family positive = <@name> is walking! | happy birthday, dear <@name>! | what a lovely <@feast>!
  | <@name> said yes! | it's a girl! | we love the <@toy>. | home at last, all well.
short family neutral = home by <clock>. | call <@kin> tonight. | dinner at <evening>?
  | who has <@name>'s key? | bring the <@toy>. | <@feast> on <date>. | picking up <@name> now.
  | where is the <@toy>?

to housing = <Mr/Ms> <surname> *3 | <anyone> *2
room = kitchen | bathroom | bedroom | hallway | cellar | attic | living room | stairwell | laundry room
  | garage
fitting = radiator | window | smoke alarm | tap | ceiling lamp | door | socket | skylight | drain | wiring
fixture = radiator | boiler | washing machine | front door lock | lift | oven | toilet | shower | fridge
  | doorbell
dwelling = flat | studio | two-bedroom flat | cottage | loft | terraced house | bungalow | houseboat
complaint housing = the <@fitting> in the <@room> has [been broken|leaked|made a terrible noise] since
    <date>.
  | there [is mould|are mice|are ants|is water] in the <@room> and [nobody has come|the agency does
    nothing]. | your plumber [never showed up|left mud in the <@room>|broke the <@fixture>] <past>.
  | somebody [parks in my space|smokes in the <@room>|blocks the <@room> with bikes|steals my post] every
    <weekday>. | we have had no [heating|hot water|electricity|internet] at <address> for <span>.
slight housing = the neighbours at number ^# [drill|argue|play techno|let their dog bark] until <late>
    [every night|on Sundays].
  | the <@dwelling> in <town> looked nothing like the photos: [no <@fixture>|a damp <@room>|a motorway next
    door]. | the agency let <few> dozen people view the same <@dwelling> at <clock>.
  | my flatmate <@name> never [cleans the <@room>|pays on time|takes out the rubbish].
demand housing = please [send someone|have it repaired|come and look] before <date>.
  | I'll [pay less rent|call a lawyer] otherwise. | the key is with <anyone> at number ^#.
  | the landlord's number is <phone>. | when will this be fixed?
overcharge housing = you kept <@money> of my deposit for a [scratch|stain|cracked tile] in the <@room>.
  | the [heating|water|power] bill for <address> has gone up by <@money> [since <month>|without warning].
  | the agency asks for <@money> just to [view a <@dwelling>|change the <@fixture>|copy a key].
bad housing = we have to leave the <@dwelling> by <date> | the landlord wants to sell <address>
  | I can't pay the rent for <month> | the rent goes up to <rent> in <month>
  | somebody broke in through the <@room> <past> | the bank said no to the <price> for the <@dwelling>
  | the <@room> ceiling came down <past> | my flatmate <@name> moved out <past>
secret housing = I sublet the [spare|small] room to <anyone> for <money> a week
  | I broke the <@fixture> myself | I have a cat in the <@dwelling> | I am <few> months behind with the rent
  | I gave <@name> the spare key | I am buying a <@dwelling> in <town>
  | I slept in the <@room> of <anyone>'s <@dwelling> for <span> | the leak in the <@room> was my fault
good housing = we got the <@dwelling> on <street> | the landlord fixed the <@fixture> <past>
  | the bank approved the <price> | our offer of <price> for the <@dwelling> was accepted
  | we found a <@dwelling> near <town> for <rent> a month | the deposit of <rent> came back <past>
  | <@name> is moving in with me <future> | the noise next door has stopped
praise housing = our new <@dwelling> on <street> is <so> [bright|quiet|warm|roomy].
  | the plumber [fixed|replaced] the <@fixture> in an hour.
  | <@name> from number ^# [watered our plants|took in our parcels|lent us a ladder] for <span>.
  | the landlord is <so> [fair|helpful|easy to reach]: the <@fixture> was [replaced|repaired] the next day.
helping housing = your help with the move <past> | the new <@fixture> | the keys to the <@dwelling>
  | the quick repair in the <@room> | the loan of your van <past> | the tip about the <@dwelling> in <town>
  | the warm welcome on <street>
ask housing = is the <@dwelling> on <street> still free?
  | how much is the rent for the <@dwelling> in <town>?
  | when can we [see the <@dwelling>|collect the keys|move in]? | who pays for a new <@fixture>, you or I?
  | may I [paint the <@room>|keep a dog|sublet to <anyone>|change the <@fixture>]?
  | is the deposit <rent> or less? | where is the [meter|main tap|fuse box|recycling]?
  | does the [bedroom|kitchen|garden] get any sun?
open housing = the <@dwelling> has a <@fixture> | the rent includes [heating|water|parking]
  | pets are allowed at <address> | we could see the <@dwelling> <future>
  | the <@fixture> is under guarantee | <anyone> from number ^# has a spare key
do housing = repair the <@fitting> in the <@room> | send the contract for <address> to <@email>
  | let the plumber in at <clock> | return the deposit of <rent> to account <code>
  | read the meter in the <@room> | leave the keys with <anyone> at <address>
act housing = pay the rent for <month> | show the <@dwelling> to <anyone> | paint the <@room>
  | measure the <@room> | sign the lease | hand the keys to <anyone>
  | move the [sofa|piano|wardrobe] into the <@room> | call the plumber on <phone>
due housing = the rent of <rent> is due on <date> | the water will be off on <date> [from <clock>]
  | the bins go out on <weekday> | somebody will come to read the meter <future>
  | the lease for <address> ends on <date>
report housing = the meter in the <@room> reads ^####. | we move to <address> <future>.
  | the door code is ^###, and the <@room> key is [green|under the mat|with <anyone>].
  | the rent for the <@dwelling> is <rent> plus <fee> for [heating|parking|the <@fixture>].
  | I live at <address> with <@name>. | <anyone> viewed the <@dwelling> <past> and offered <price>.
  | my contract, number <code>, started on <date>.
short housing negative = the <@fixture> broke again. | no heating since <weekday>. | water in the <@room>!
  | we lost the <@dwelling>. | mice in the <@room>. | locked out at <clock>. | the <@room> smells of gas.
short housing positive = we got the <@dwelling>! | the <@fixture> works again. | keys in hand!
  | love the new <@room>. | so quiet here now.
short housing neutral = keys under the mat. | plumber at <clock>. | the code is ^###.
  | is the <@dwelling> free? | rent paid <past>. | viewing on <weekday>, <clock>. | the <@fixture> is new.
"""
