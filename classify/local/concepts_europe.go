//nolint:misspell // the words are of many languages
package local

// conceptsEurope continues conceptsElsewhere, in the same form, with Dutch, Polish,
// Swedish, Danish, Norwegian, Finnish, Czech and Romanian.
const conceptsEurope = `
buy kopen koop gekocht kup- kupi- kupować köpa köpt købe købt kjøpe kjøpt ostaa osta ostin koupit koupi- cumpăr-
sell verkopen verkoop- sprzeda- sälja sælge selge myydä myy- prodat prodáv- vinde vând-
price prijs prijzen kost goedkoop- duur koszt- tani- drogi priser kostar koster billig- dyr- hinta hinnat maksaa halpa halvin kallis ceny stojí levn- drah- ieftin- scump- cenę prețul priset
pay betalen betaal betaald zapłac- płatno- betala betalt betale maksa- platit zaplat- plătesc plătit płacić
bill rekening factuur facturen rachun- faktur- räkning- regning- lasku- účet účten- bonuri bonul
money pieniąd- pieniędz- kasa pengar penger penge rahoja peníze peněz bani banii rahaa rahat rahani
loan lening hypotheek lenen kredyt- pożycz- lånet bolån- laina- půjčk- půjč- hypoték- împrumut- rată lånen
tax belasting- podat- skatt- skat verot- veron- alv dph impozit-
salary salaris loon pensj- wynagrodzen- wypłat- pensja lön lønn løn palkka- palkan mzda leafa salariu
budget begroting uitgegeven budżet- wydat- wydał- utgift- spenderat udgift- brugte menot kulut- meni utratil- výdaj- rozpočt- cheltui-
insurance verzekering- ubezpiecz- försäkring- forsikring- vakuutu- pojist- asigur- polisa polisę poliță
password wachtwoord- hasł- lösenord- adgangskode- passord- salasana- hesl-
login inloggen logować zalogu- logga logge kirjaudu- přihlas- přihláš- logare loghe-
find zoek- vinden znajd- szuk- poszuk- hitta letar finn etsi- löyty- hledá- najdi- najít gaseste găse- caut caută
route rijden dojech- dojazd- resväg vej vägen veien reitti- trasu
car auta autoon samochód samochod- bil bilen bilar biler autoni autot mașin-
train trein- pociąg- tog toget juna- junan vlak- trenul tåget trenuri
flight vlucht- vliegtuig lotnisk- samolot- flyg- flybillet- lento- lentok- letenk- letadl- zbor-
hotel hotelli- ubytován- cazare
trip reizen vakantie- podróż- wakacj- wyciecz- resa rejse- matka- loma- lomalle dovolen- výlet- călător- vacanț- excurs- feriene
ticket kaartje- biljett- billett- liput lippu vstupenk- lístk- lístek
book boeken reserveer- zarezerw- rezerw- boka bestille bestil varaa rezervu- rezervo-
cancel annuleer- annuleren afzeggen anuluj- odwoła- avboka avbryt aflys- avlys- peruuta- zruš- anulea- anulează
change wijzig- verander- aanpassen zmień zmien- przesuń ändra byt ændre skift endre bytt muuta vaihda siirrä změn- přesuň schimb- mută
delete verwijder- wis gooi usuń usuw- skasuj- wykasuj- radera slet slett fjern poista smaž- vymaž- odstran- șterg- șterge
add toevoeg- voeg dodaj- dopisz- dorzuć lägg tilføj legg lisää přidej- přida- adaug- adaugă
create maak maken stwórz utwórz skapa gör oprett lav opprett luo vytvoř- udělej udělat creează
start starten opstart- uruchom- rozpocz- startuj starta käynnist- aloita spusť zahaj- porne- pornește începe włącz- zapal tänd tænd sytytä zapni rozsvi- aprinde aanzetten
stop stoppen zatrzym- przerw- stoppa pysäytä lopeta zastav- přestaň oprește opri- wyłącz- zgaś sluk sammuta vypni zhasni stinge uitzetten
open openen opent otwórz otwart- odblok- öppna öppen öppet åbn åben åpne åpen avaa auki otevř- otevřen- odemkn- deschi-
close sluit sluiten gesloten dicht zamkn- zamkni- stäng- luk lukket lukk sulje kiinni lukossa zavř- zamčen- închid- închis- încui- încuiat-
raise harder hoger głośniej podnieś zwiększ höj øk hæv nosta zvyš- mărește ridică
lower zachter ciszej zmniejsz obniż sänk sænk senk laske hiljem- sniž- ztlum ztiš scade micșorează
show toon laten pokaż pokażesz vis näytä luettele ukaž ukázat arată-
explain uitleg- wyjaśn- wytłumacz- förklar- forklar- selitä- vysvětl- explică explică-mi
learn leren oefen- naucz- uczyć ćwicz- lära öva øve lære øv opiskel- harjoit- naučit procvič- učit învăț- exers- opeta opetella
translate vertaal- vertaling przetłum- tłumacz- översätt- oversæt- oversett- käänn- suomenna přelož- překlad- tradu- traduce-
language taal talen język- språk sprog kieli- kielen jazyk- limba limbi
english engels- angielsk- engelsk- englanni- anglic- englez-
german duits- niemieck- tysk- saksa- němčin- německ-
french frans franse francusk- fransk- ranska- francouz- francez-
spanish spaans- hiszpańsk- spansk- espanja- španěl- spaniol-
italian italiaans- włosk- italiensk- italsk-
speak praat praten rozmaw- rozmow- prata snakk- snakke puhu- juttel- mluv- povíd- vorb- discut-
call bellen bel zadzwoń ringa soita- puhelin- zavol- sună telefonu telefonem telefonul
message berichtje appje wiadomoś- meddeland- besked- melding- viesti- zpráv-
email mailtje mailen mejl mejle- maila maile maila- mejlet sähköposti- mailu mailul mailuri
reply antwoord- beantwoord- odpis- odpowied- svara svar vastaa- odpověz- odepi- răspund-
remind herinner- przypomn- påminn- husk minn muistut- připomeň- amintește-
alarm wekker wek wekkers budzik- obudź alarmet väck- væk vekk alarmen herätys herätä budík- vzbuď- alarma trezește-
timer kookwekker timers minutnik- odlicz- timern timeren ajastin ajasti- minutk- časovač- timerul
calendar afspraak afspraken spotkan- wizyt- kalendarz- kalender- aftale- avtale- kalenteri- tapaamis- palaveri- schůzk- poradu ședinț- întâlnir- programar- møder mødet möten mötet møte møtet termínu
task taak klusje zadan- uppgift- opgave- oppgave- tehtäv- úkol- sarcin- rezolvat
note notitie- notatk- zapisz anteckn- notat- muistiinpan- poznámk- notiț- notează
list lijst lijstje listy listan listalle seznam- listei
date datę päivämäär-
day dagen dzień dzisiaj dagar dage dager päivä- dny zi zile
time tijd uur godzin- czas- klockan klokken klokka kello- hodin- kolik ceasul
today vandaag vanavond vanmiddag dziś idag ikväll aften tänään dnes dneska azi diseară
tomorrow jutro imorgon huomenna zítra zítř-
yesterday gisteren gister wczoraj igår eilen eilis- včera
week weken tydzień tygodni- vecka veckan helg- uge ugen uke uka viikko- viikon týden týdn- víkend- săptămân-
month maand- miesiąc- miesięc- månad- måned- kuukau- měsíc- luni
year jaar jaren rok latach året årets vuosi vuoden vuonna roce letos anul
monday maandag- poniedział- måndag- mandag- maanantai- ponděl- lunea
friday vrijdag- piątek piątk- fredag- perjantai- pátek páteční vineri
fast snel spoed szybko pilne snabbt hurtigt raskt nopea- nopeasti rychl- repede
delivery bezorg- pakketje pakket- bestelling- paczk- przesyłk- zamówien- leverans- pakke- levering- paketti- lähetys zásilk- objednávk- balík- colet- livrar- comanda comenzi
weather weer weerbericht pogod- väder- vädret vejr- vejret vær været sää sään počasí vremea prognoz-
rain regent regenen pada padać deszcz- regna sataa sade sateen prší pršet dešť plou- ploaie ploua
snow sneeuw- śnieg- sne sneen lumi lunta sníh sněž- ninge ninso- zăpad- snö snön snø snøen
storm onweer stormt burz- åska torden- myrsky- bouřk- bouře furtun-
temperature temperatuur graden koud stopni ciepł- zimn- grader varmt kallt kaldt koldt lämpötil- lämmin astetta asteeseen kylmä teplot- stupň- stupně căldur- frig
light lampen licht lampje verlichting światł- lampk- oświetl- ljus ljuset lampa lampan lampor lys lyset lamper valo valot valoja lamppu- světl- světel lumin- becul becuri
color kleur kleuren kolor- färg- farve- farge- värin barv- culoa- väri väriä
heating verwarming thermostaat kachel ogrzewan- grzejnik- termostat- klimatyzac- värmen värme varmen varme varmeovn- lämmity- patteri- topení klimatiz- încălzir- centrala
tv televisie televizor- telewizor- tvn fjernsyn- telkkari televisio- televiz-
vacuum stofzuig- odkurz- dammsug- støvsug- imuri- imuroi- vysav- aspirator-
plug stopcontact gniazdk- vägguttag stikkontakt- pistorasia- zásuvk- priză prize
volume geluid głośnoś- ljud- volymen lyd lyden lydstyrk- ääni- äänenvoim- hlasitost- zvuk- volumul sunet-
play speel afspeel- draai zagraj graj puść odtwarz- włączyć spela spill spil afspil soita toista pusť přehra- zahraj cântă redă
music muziek- muzyk- musik musiken musikk- musiikki- hudb- muzic-
song liedje liedjes piosenk- utwór utwor- låt låten sång sang sangen låta kappale- laulu- biisi písnič- skladb- píseň melodi- piesa piesă cântec-
movie films filmpje filmu filmy filmen elokuva- leffa- filmul filme
series sarja- sarjan seriale serialul seriály
podcast podcastu podkast- podden podd
radio radia radiot radiu
game spel spelletje gra gry pelin hra hry joc jocul peli pelejä
joke grap dowcip- kawał- skämt vits- vittighed- vitsi- vtip- banc bancuri glum-
story verhaal verhaaltje opowiad- bajk- berättel- novell- fortell- eventyr tarina- satu satuja pohádk- povest-
poem rijmpje wiersz- rymowank- digt- runo- básn- poezi-
article artikel artykuł- artikkel- artikkeli- článe-
news nieuws wiadomości nyhet- nyhed- uutis- știri
sport voetbal wedstrijd mecz- fotboll fodbold kamp kampen fotball ottelu- jalkapallo- zápas- fotbal- meciul
recipe recept przepis- oppskrift- opskrift- ohje reseptejä rețet-
food eten maaltijd avondeten obiad- kolac- śniadan- jedzen- maten middag frokost maden ruoka- ruuan lounas jídl- oběd- večeř- mâncar- cină prânz
restaurant restauracj- restaurang- restauranten ravintola- restaurac- restaurantul
diet dieet afvallen dieta odchudz- slank- laihdu- ruokavalio- hubn- slăb-
grocery boodschappen zakup- sklep- inköp- mataffär indkøb- handlelist- kauppa- ostos- nákup- obchod- cumpărătur- magazin-
doctor dokter huisarts tandarts lekarz- dentyst- läkare- tandläkar- læge- tandlæge- lege legen tannlege- lääkäri- hammaslääkäri- lékař- zubař- dentist-
pain pijn hoofdpijn koorts ziek boli bolą ból gorączk- feber sjuk- ondt syg vondt syk kipu kipeä särky särkee kuume- sairas bolest- bolí horečk- nemocn- doare durere febră bolnav-
exercise sporten trening- ćwiczen- träning- træning- kuntosal- treeni- liikunta- trénink- cvič- antren- treenaa treeni
sleep slaap slapen slecht spać śpię sova sover sömn søvn søvnen sove nuku- unta spím spánek somn spánku
work werk baan kantoor biur- jobb- arbete- arbejd- arbeid- työ- töihin práce práci zaměstn- muncă serviciu jobul pracy pracę pracuj- praca
boss baas szef- chefen sjef- pomo- szefem șeful šéfa
name naam heet nazyw- imię hette heter hedder hed navn nimi nimen jmen- jmén- nume numele chema
birthday verjaardag- urodzin- födelsedag- fødselsdag- bursdag- syntymäpäiv- narozenin- aniversar-
family moeder vader vrouw gezin tata mąż rodzin- pappa mor kone fru äiti vaimo mies perhe mamin- táta tátovi manžel- rodin- tatăl soți- soțul żonę żony mamie
child kinderen zoon dochter dzieck- dzieci syn córk- barn dotter søn datter lapsi- lapset poika tyttö dítě dcer- copil- copii fiul fiica děti dětem dětí
friend vriend- vriendin przyjaci- kolega kolegi vännen kompis veninde venn venninn- kaveri- ystävä- kamarád- přítel- prieten-
angry boos verdrietig zły zdenerwow- smutn- wkurz- ledsen vred ked sint vihainen surullinen naštv- supărat- trist-
stress gestrest zorgen martwi- orolig- stressad bekymr- bekymret stressaa huolissa- strach stresat- îngrijor- emoții
feel gevoel voelde voel czuł- czuję- uczuc- samopoczuc- kände känsl- mådde følte følels- tunsi tunte- mielial- cítil- pocit- nálad- simți- simț- simțe-
hello hoi goedemorgen goedenavond cześć hejka tjena hejsan godmorgon goddag heisann moikka terve ahoj čau nazdar bună
goodbye doei welterusten dobranoc hejdå godnatt farvel godnat natta heippa näkemiin nashle dobrou
thank bedankt dank dankjewel dzięki dziękuj- tack tackar takk kiitos kiitti díky děkuj- mersi mulțum-
sorry spijt przepras- wybacz förlåt ursäkt undskyld unnskyld beklager anteeksi omlouv- promiň scuze iart-
help hulp helpen pomóż pomoc- hjälp- hjælp- hjelp- apua pomoz pomoct ajut-
problem probleem storing kłopot- usterk- fel felet fejl- feil feilen ongelma- vika vikaa potíž- chyb- eroare greșeal-
fail faalt mislukt kapot padł- wywal- kraschar krasch- fejler går krasjer krasj feiler kaatu- epäonnist- padá spadl- selh- pică crapă eșua-
fix repareer- oplossen napraw- laga fikse fiks reparere korjaa oprav- rezolv-
code broncode functie kod kodzie funkcj- skrypt- koden funksjon- koodi- koodin skripti funkc- codul funcți- scriptul funktioita
test testen testy testów tester testene testit testejä testuje testele
git gałąź gałęz- gren grenen greinen haara- větev větv-
deploy uitrollen wdroż- driftsätt- udrul- utrull- julkaise nasaď- nasazen- lansează
server servera serwer- servern serveren palvelin palvelim- serverul
database databank- baza bazy danych databas- databasen tietokan- databáz- bază
file bestand- mapje plik- filen filer mapp mappe mapper mappen mappa tiedost- kansio- soubor- složk- fișier- dosar-
photo foto's zdjęci- fotk- foton bilder billed- bilde- kuva- valokuv- obráz- poz- fotograf- scherm- imaginea
draw teken tekening narysuj rysun- rita tegn tegne piirr- nakresl- kresl- desenează
analyze analyseer- analys- analyser- analysoi- analyz- rozbor-
calculate gemiddeld- średni- snitt genomsnitt gjennomsnitt gennemsnit- keskiarv- průměr- bereken- reken policz- oblicz- räkna beregn- regn laskea spočít- vypočít- calcul-
compare vergelijk- verschil porówn- różni- jämför- skillnad- sammenlign- forskel forskellen forskjell- vertaa- verrat- eroa porovn- rozdíl- compar- diferenț-
summarize samenvat- streść streszcz- podsumuj- sammanfatt- oppsummer- sammendrag resumé sammenfat- tiivist- lyhenn- shrň shrn- zkrať rezum- scurt-
recommend aanraden raad polec- doradź rekommend- anbefal- suosit- doporuč- recomand-
decide moet twijfel kiezen decyz- powinien- powinn- zdecyd- bør kannatt- pitäisi päätt- rozhod- mám hotăr- decid-
plan plannen planowan- zaplan- plany planera planlæg- planlegg- suunnit- naplán-
security beveilig- veilig- bezpiecz- zabezpiecz- säker- sikker- sikkerhed- turvall- tietoturv- bezpeč- zabezpeč- secur- sigur
fraud nep oplichting oszust- wyłudz- bedrägeri bluff svindel huijau- podvod- înșel- țeapă
network netwerk- sieć sieci nätverk- nätet netværk- nettet nettverk- verkko- netti nettiä síti rețea- netul
website webpagina witryn- webbplats sidan sajt- hjemmeside- siden nettside- sivu- sivust- stránk- webu site-ul
computer komputer- dator- datamaskin- tietokone- koneen počítač-
phone mobiel telefoon- komórk- mobil- mobilen puhelim-
battery accu batterij- bateri- akun baterk- bateria
city stad steden miast- staden byen kaupunki- kaupung- měst- oraș-
house huis thuis domu domow- mieszkan- hus huset hemma hjem hjemme hytta koti kotona talo- asunto- bytu doma casă acasă apartament-
room kamer woonkamer slaapkamer- keuken badkamer zolder sypial- kuchni- pokoj- łazien- vardagsrum- sovrum- kök- badrum- stue- stuen soveværels- køkken- badeværels- stua soverom- kjøkken- badet olohuone- makuuhuone- keittiö- kylpyhuone- obývá- ložnic- kuchyn- pokoj koupeln- bucătări- sufrageri- baie
school klas toets szkoł- lekcj- skola- skole- koulu- škol- școal- lecți-
history geschiedenis histori- hist historien historiall- dějin- histor- istori- historii
earlier vorige laatst onlangs ostatni- poprzedn- niedawno sist siste senast tidigare förra sidst forrige viimeksi viime aiemmin posledn- minul- naposled- trecut-
remember onthou- onthoud herinner pamięt- zapamięt- ihåg minns huske husker muista- muistat muistin pamatuj- zapamatuj- pamat- reține memorează
cat kat poes hond kot kota pies psa katt- kissa- koira- kočk- pes pisic- câin- hunden
`
