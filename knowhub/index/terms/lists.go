package terms

import "strings"

// irregular are forms that the rules of the stemmer do not cover. Each line begins with
// the word that its forms count as. Words that share a form count as one word: axes,
// leaves, lives.
var irregular = table(`
arise arose arisen
awake awoke awoken
beat beaten
become became
begin began begun
bend bent
bind bound
bite bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
die dying dies died
dig dug
draw drew drawn
drink drank drunk
drive drove driven
dwell dwelt
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fling flung
fly flew flown
forbid forbade forbidden
foresee foresaw foreseen
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go goes went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
leap leapt
learn learnt
leave left leaf leaves
lend lent
lie lying lies lied
light lit
live life lives
lose lost
make made
mean meant
meet met
mislead misled
mistake mistook mistaken
misunderstand misunderstood
outgrow outgrew outgrown
overcome overcame
override overrode overridden
overtake overtook overtaken
overwrite overwrote overwritten
pay paid
prove proven
rebuild rebuilt
redo redid redone
remake remade
rerun reran
resend resent
rethink rethought
rewind rewound
rewrite rewrote rewritten
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk sunken
sit sat
sleep slept
slide slid
sling slung
sow sown
speak spoke spoken
speed sped
spell spelt
spend spent
spill spilt
spin spun
spit spat
spoil spoilt
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
stink stank stunk
stride strode
strike struck stricken
string strung
strive strove striven
swear swore sworn
sweep swept
swell swollen
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tie tying ties tied
tread trod trodden
undergo underwent undergone
understand understood
undertake undertook undertaken
undo undid undone
uphold upheld
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
wind wound
withdraw withdrew withdrawn
withstand withstood
wring wrung
write wrote written

analyze analysis analyses analyse analysed analysing
appendix appendices
axis axes
bacterium bacteria
calf calves
child children
codex codices
cortex cortices
crisis crises
criterion criteria
curriculum curricula
datum data
diagnose diagnosis diagnoses
elf elves
ellipsis ellipses
erratum errata
foot feet
formula formulae
fungus fungi
goose geese
half halves halve halved halving
hoof hooves
hypothesis hypotheses
index indices indexes
knife knives
larva larvae
loaf loaves
locus loci
louse lice
man men
matrix matrices
medium media
memorandum memoranda
mouse mice
nucleus nuclei
oasis oases
ox oxen
parenthesis parentheses
person people
phenomenon phenomena
quantum quanta
query queries
radius radii
scarf scarves
schema schemata
self selves
shelf shelves
stimulus stimuli
synopsis synopses
synthesis syntheses
thesis theses
thief thieves
tooth teeth
vertex vertices
vortex vortices
wife wives
wolf wolves
woman women

angry angrily angrier
arbitrary arbitrarily
big bigger biggest
bright brighter brightest
busy busily busier
cheap cheaper cheapest
clear clearer clearest
cold colder coldest
deep deeper deepest
dirty dirtier
early earlier earliest
easy easily easier easiest
fast faster fastest
great greater greatest
happy happily happier
hard harder hardest
heavy heavily heavier heaviest
high higher highest
hot hotter hottest
large larger largest
long longer longest
lucky luckily
momentary momentarily
near nearer nearest
necessary necessarily
new newer newest
old older oldest
ordinary ordinarily
primary primarily
quick quicker quickest
ready readily
safe safer safest
satisfactory satisfactorily
short shorter shortest
simple simpler simplest
slow slower slowest
small smaller smallest
steady steadily
strong stronger strongest
temporary temporarily
tiny tinier tiniest
voluntary voluntarily
warm warmer warmest
wide wider widest
worse worst

lock deadlock
`)

// table maps all words of a line to its first.
func table(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 {
				m[w] = words[0]
			}
		}
	}
	return m
}

func set(text string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// stop are words that carry no meaning of their own.
var stop = set(`
a an the and or but nor so if then else than that this these those there here it its itself
i me my mine we us our ours you your yours he him his she her hers they them their theirs
is am are was were be been being do does did doing done has have had having
will would shall should can could may might must
of in on at by for from to into onto with without within about as over under between through per via
not no nor only own same too very just also still yet again ever both each few more most other some such any all
what which who whom whose when where why how
don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn mustn t s d ll re ve m
because while until during before after above below up down out off once
`)

// clitic are the short endings after the apostrophe of an English word.
var clitic = set(`s d m ll re ve em`)

// weak are words of questions that do not name their subject.
var weak = set(`
please help want need needed try tried trying know tell say said thank thanks hi hello hey anyone someone somebody something anything everything nothing
get got getting gets go goes going went gone make makes made making let lets way thing things kind sort like seem seems
happen happens happened happening actually really maybe perhaps quite instead even ok okay yes
best good better right wrong suddenly always never sometimes now today yesterday
remember recall last earlier previously ago figure figured trick whole every keep see look deal use used using
one two first second time times day week bit lot much many another whenever
question answer issue problem problems trouble work works working
`)

// hanWeak are characters of Chinese and Japanese function words: a pair with one
// of them says little.
const hanWeak = "的了是在我你他她它们這这那怎么麼什为為吗嗎呢吧就都也要会會能可以不没沒有和与與及或被把让讓给給上下里裡很还還再才又从從到对對时時候后後前中个個些样樣请請想用做说說看出来來去過过得地着呀啊哪谁誰何何時方法"
