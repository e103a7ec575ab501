//nolint:misspell // the words are of many languages
package local

// conceptsFurther is like conceptsElsewhere, for Hungarian, Greek, Ukrainian,
// Vietnamese, Indonesian, Thai, Hebrew and Persian, in this order. Most Vietnamese
// words are two syllables, each a word here, so it has few. Hebrew words are given
// without article and prepositions. Thai words have two to nine characters.
const conceptsFurther = `
buy vásárol- veszek vegyek vennék αγορ- ψωνι- купит- придба- beli membeli belikan ซื้อ לקנות קניה קנייה تخرید بخرم خریدن بخرید
sell eladni eladás πουλ- продат- jual menjual ขาย למכור מכירה بفروشم فروش-
price drága olcsó- mennyibe τιμη τιμες κοστιζ- φθην- ακριβ- ціна ціни ціну дешев- дорог- кошту- harga murah mahal ราคา เท่าไหร่ เท่าไร מחיר מחירים עולה זול יקר قیمت ارزون- ارزان- گرون گران چنده
pay fizet- kifizet- πληρω- заплат- сплат- bayar membayar จ่าย לשלם תשלום پرداخت
bill számla számlá- csekk λογαριασμ- τιμολογ- αποδειξ- рахунок рахунк- чек- tagihan invois faktur struk hoadon บิล ใบเสร็จ ใบแจ้งหนี้ חשבונית קבלה קבלות فاکتور قبض
money pénz- λεφτα χρηματα гроші грошей uang duit เงิน כסף پول
exchange árfolyam- forint ισοτιμ- συναλλαγμ- валют- гривн- kurs ค่าเงิน שער דולר יורו ارز دلار یورو
transfer utal- átutal- εμβασμ- переказ- transferkan โอน העברה להעביר واریز
loan hitel- kölcsön- törleszt- δανειο δανει- кредит- іпотек- позик- utang hutang cicilan pinjam- ผ่อน หนี้ กู้ הלוואה משכנתא حواله وام قسط بدهی
tax adót adóbevall- φορο- φορος подат- pajak ภาษี מס מסים مالیات
salary fizetés- μισθο- зарплат- платня gaji เงินเดือน משכורת שכר حقوق
budget költ költség- költünk kiadás- kiadás εξοδα ξοδ- προυπολογισμ- витрат- витрач- pengeluaran anggaran belanja รายจ่าย ค่าใช้จ่าย งบ הוצאה הוצאות הוצאתי תקציב خرج هزینه بودجه
save spórol- félretenni megtakarít- αποταμι- заощад- відклас- nabung tabungan menabung ออม เก็บเงิน לחסוך חיסכון پسانداز
invest befektet- részvény- επενδ- μετοχ- інвест- акці- saham หุ้น ลงทุน השקעה מניות מניה سهام بورس
insurance biztosítás- biztosító- ασφαλεια ασφαλιστ- страхув- asuransi ประกัน ביטוח بیمه
account fiók- számlám λογαριασμος акаунт- облік- akun บัญชี חשבון اکانت
password jelszó- κωδικο- пароль- sandi รหัสผ่าน รหัส סיסמה סיסמא پسورد
login belép- bejelentkez- συνδεσ- σύνδεσ- вхід увійт- зайди masuk เข้าสู่ระบบ ล็อกอิน התחבר להתחבר כניסה ورود وارد
fraud csalás csalók adathalász- απατη απατ- шахра- penipuan ditipu มิจฉาชีพ หลอกลวง הונאה עוקץ کلاهبرداری
steal ellop- lopás κλεψ- εκλεψ- вкрал- крад- dicuri maling ขโมย נגנב גנבו دزدی-
find keres- keresd megtalál- βρες βρω ψαχνω ψαξε знайд- шука- cari carikan cariin mencari temukan หาไฟล์ ช่วยหา ค้นหา חפש למצוא תמצא پیدا جستجو
where hova honnan πού де куди звідки mana dimana ที่ไหน איפה היכן کجا کجاست
traffic dugó forgalom κινηση затор- macet รถติด פקקים פקק ترافیک
car autót autóm autómat kocsi- αυτοκινητ- αμαξι авто авті oto ขับรถ ซื้อรถ รถคัน รถยนต์ רכב מכונית אוטו ماشین
train vonat- τρενο τρενα потяг- kereta รถไฟ רכבת قطار
plane repjegy- repülő- járat- πτηση πτησεις αεροπλαν- літак- рейс- pesawat penerbangan เครื่องบิน เที่ยวบิน טיסה טיסות מטוס پرواز هواپیما
hotel szállás- szálloda- ξενοδοχει- готел- penginapan khachsan โรงแรม ที่พัก מלון צימר هتل
trip utazás- utazom nyaral- ταξιδ- διακοπες подорож- відпустк- liburan wisata เที่ยว ท่องเที่ยว ทริป טיול לטייל חופשה سفر مسافرت
luggage bőrönd- csomagol- βαλιτσ- валіз- koper กระเป๋า מזוודה چمدان
visa vízum- βιζα- віза візу วีซ่า ויזה ویزا
book foglal- κρατησ- κλεισε забронюй- брон- pesan pesankan จอง להזמין הזמנה رزرو
ticket jegy jegyet jegyek εισιτηρι- квитк- квиток tiket ตั๋ว כרטיס כרטיסים بلیط بلیت
cancel lemondani lemondom töröld ακυρω- скасу- batalkan batal ยกเลิก בטל לבטל תבטל کنسل لغو
change változtat- cseréld módosít- αλλαξ- αλλαζ- змін- ganti ubah tukar เปลี่ยน แก้ไข לשנות שנה تغییر عوض
update frissít- ενημερωσ- онови- оновл- perbarui อัปเดต อัพเดท עדכן תעדכן עדכון آپدیت
delete töröl- törlés- σβησ- διαγρα- видали- видал- hapus menghapus ลบ מחק תמחק حذف
add hozzáad- adj add írd προσθεσ- βαλε- додай- дода- tambah tambahkan tambahin masukkan เพิ่ม ใส่ הוסף תוסיף اضافه
create készíts csinálj hozz φτιαξ- φτιαχ- δημιουργ- створи- створ- зроби buat buatkan bikin bikinin สร้าง צור תכין תיצור הכן بساز درست ایجاد
start indíts- indul kezdj- ξεκιν- αρχισ- почни- почат- запуст- mulai เริ่ม התחל להתחיל شروع
stop abba leállít- σταματ- зупин- припин- berhenti หยุด עצור תפסיק متوقف
open nyisd nyiss kinyit- ανοιξ- ανοιγ- відкри- відчин- buka bukakan เปิด פתח תפתח باز
close zárd csukd bezár- κλεισε κλεισ- закри- зачин- tutup tutupkan ปิด סגור תסגור ببند
raise hangosítsd emeld növel- ανεβασ- δυναμωσ- збільш- підвищ- naikkan הגבר תגביר بیشتر
lower halkítsd csökkent- χαμηλωσ- κατεβασε зменш- turunkan kecilkan ลด תנמיך הנמך کمتر
show mutasd mutass δειξ- покажи tampilkan lihat liatin tunjukkan แสดง ขอดู הראה תראה نشون نشان
check ellenőriz- nézd ελεγξ- ελεγχ- перевір- cek periksa ตรวจ เช็ค เช็ก בדוק תבדוק چک بررسی
explain magyaráz- εξηγη- поясни- поясн- jelaskan อธิบาย הסבר תסביר توضیح
meaning jelent jelentés- jelentése σημαινει σημασια значить означа- artinya maksud makna แปลว่า หมายความ ความหมาย משמעות פירוש معنی یعنی
learn tanul- tanít- μαθ- μάθημα вивч- вчит- навча- belajar ajari latihan เรียน ฝึก ללמוד לתרגל یاد تمرین
translate fordít- μεταφρα- переклад- terjemah- terjemahkan แปลเป็น แปลให้ ช่วยแปล แปลภาษา แปลข้อความ תרגם לתרגם תרגום ترجمه
language nyelv- γλωσσ- мова мову мови bahasa ภาษา שפה زبان
english angol angolul angolra német- francia spanyol- olasz- japánul magyarul αγγλικ- γερμανικ- γαλλικ- ισπανικ- ιταλικ- англійськ- німецьк- французьк- польськ- українськ- inggris jepang jerman prancis mandarin korea อังกฤษ ญี่ปุ่น จีน เกาหลี ฝรั่งเศส เยอรมัน אנגלית עברית צרפתית ספרדית גרמנית יפנית ערבית انگلیسی آلمانی فرانسه
speak beszél- μιλ- μιλήσ- розмовля- говори- bicara ngomong berbicara พูด คุย לדבר דבר صحبت
call hívd telefonál- τηλεφων- подзвон- зателефон- telepon โทร התקשר טלפון تلفن زنگ
message üzenet- sms μηνυμ- повідомл- pesan ข้อความ הודעה הודעות پیام پیامک
email emailt levelet levelek μειλ- μηνυματα листи листів пошт- surel อีเมล เมล מייל מיילים אימייל ایمیل
reply válasz- απαντ- відпов- відповід- balas jawab ตอบ ענה תענה להשיב جواب
remind emlékeztess- szólj υπενθυμ- θυμισ- нагада- ingatkan ingetin เตือน הזכר תזכיר תזכורת یادآوری
alarm ébressz- ébresztő- ξυπνητηρ- ξυπνα- будильник- розбуд- bangunkan ปลุก העיר שעון بیدار زنگ
timer időzítő- χρονομετρ- таймер- จับเวลา טיימר تایمر
calendar naptár- időpont- megbeszélés- találkozó- ραντεβου- ημερολογι- συσκεψ- συναντησ- зустріч- календар- нарад- kalender jadwal janji rapat นัด ประชุม ตาราง ปฏิทิน יומן פגישה פגישות תור جلسه قرار نوبت تقویم
task feladat- teendő- εκκρεμοτ- εργασι- δουλει- завдан- справи справу tugas kerjaan งาน משימה משימות وظیفه کارام کارهام
note jegyezd jegyzet- σημειωσ- занотуй- нотатк- запиши catat catatan จด บันทึก תרשום פתק הערה یادداشت
list lista listá- λιστα- список- daftar รายการ ลิสต์ רשימה لیست فهرست
date dátum- ημερομηνι- дата дату tanggal วันที่ תאריך تاریخ
time óra órakor perc ωρα ώρα λεπτα година годині годину хвилин- jam menit waktu เวลา นาที โมง שעה שעות דקות ساعت دقیقه
today σημερα αποψε сьогодні hariini วันนี้ คืนนี้ היום הערב امروز امشب
tomorrow holnap αυριο завтра besok พรุ่งนี้ מחר فردا
yesterday tegnap χθες χτες вчора kemarin เมื่อวาน אתמול دیروز
week héten heti εβδομαδ- тиждень тижня тижні minggu pekan สัปดาห์ อาทิตย์ שבוע هفته
month hónap- μηνα μηνας μηνες місяц- bulan เดือน חודש ماه
year évben tavaly idén χρονο χρονια φετος περσι рік року торік tahun ปีที่แล้ว ปีนี้ שנה השנה سال امسال پارسال
monday hétfő- kedd- szerda szerdán csütörtök- péntek- szombat- vasárnap- δευτερα τριτη τεταρτη πεμπτη παρασκευη σαββατο κυριακη понеділ- вівтор- середу четвер п'ятниц- субот- неділ- selasa rabu kamis jumat sabtu จันทร์ อังคาร พุธ ศุกร์ เสาร์ شنبه دوشنبه جمعه
morning reggel- délután- délben éjjel πρωι βραδυ απογευμα ранку вранці вечор- ввечері pagi siang malam เช้า บ่าย เย็น בוקר ערב צהריים صبح عصر شب
deliver szállít- kiszállít- παραδοσ- доставк- kirim pengiriman จัดส่ง ส่งของ משלוח تحویل ارسال
package csomagom csomagot δεμα παραγγελι- посилк- замовл- paket pesanan kiriman พัสดุ สั่งซื้อ חבילה הזמנה بسته سفارش مرسوله
weather időjárás- καιρο- καιρος погод- cuaca อากาศ מזג אוויר هوا هوای
rain esőben esős esik esni βρεξ- βροχ- дощ- hujan ฝน ฝนตก גשם باران بارون
snow havazik χιονι- сніг- salju หิมะ שלג برف
temperature fok fokos fokra hideg- meleg θερμοκρασ- βαθμο- κρυο ζεστη температур- градус- холодно suhu derajat panas dingin องศา ร้อน หนาว อุณหภูมิ מעלות קר חם טמפרטורה دما درجه گرم سرد
light lámpát lámpák villany- φως φωτα λαμπα світло світла ламп- lampu เปิดไฟ ปิดไฟ หลอดไฟ หลอดไฟ אור אורות מנורה چراغ لامپ
thermostat fűtés- fűts klíma- κλιματιστικ- θερμοστατ- καλοριφερ θερμοσιφων- опаленн- кондиціонер- бойлер- แอร์ ฮีตเตอร์ מזגן דוד חימום کولر بخاری
tv tévét τηλεορασ- телевізор- televisi ทีวี โทรทัศน์ טלוויזיה تلویزیون
vacuum porszívó- takarít- σκουπα ηλεκτρικη пилосос- прибир- vakum ดูดฝุ่น שואב אבק جارو جاروبرقی
volume hangerő- halkabb- hangos- ενταση гучніст- เสียง ווליום עוצמה صدا
play játszd játssz παιξε παιξ- увімкни putar putarkan setel mainkan เล่น נגן תנגן پخش
music zene zenét μουσικη музик- musik เพลง ดนตรี מוזיקה موزیک موسیقی
song szám τραγουδ- пісн- lagu เพลง שיר שירים آهنگ
movie filmet ταινι- кіно фільм- ดูหนัง หนังเรื่อง ภาพยนตร์ סרט סרטים فیلم
series sorozat- σειρα серіал- ซีรีส์ ละคร סדרה סדרות سریال
podcast podcastot ποντκαστ подкаст- พอดแคสต์ פודקאסט پادکست
game játék- παιχνιδ- гра гру ігри permainan เกม משחק بازی
joke vicc- ανεκδοτ- анекдот- жарт- lelucon เรื่องตลก มุก בדיחה جوک
story mese mesét mesélj történet- παραμυθ- ιστορια казк- розповід- оповідан- cerita dongeng นิทาน เรื่องสั้น סיפור סיפור داستان قصه
poem költemény- ποιημ- вірш- puisi กลอน บทกวี שיר שירה شعر
article cikk- αρθρο άρθρο статт- artikel บทความ מאמר כתבה مقاله
news hírek híreket ειδησ- νεα новини новин- berita ข่าว חדשות اخبار
sport foci- meccs- ποδοσφαιρ- αγωνα- футбол- матч- sepakbola ฟุตบอล บอล כדורגל משחק فوتبال
recipe receptet συνταγ- рецепт- resep สูตร מתכון دستور
food vacsora- ebéd- étel enni φαγητ- φαω βραδινο їжа їсти вечер- обід- makan makanan masak กิน อาหาร ข้าว אוכל לאכול ארוחה غذا بخورم شام ناهار
restaurant étterem- εστιατορι- ταβερν- ресторан- restoran ร้านอาหาร מסעדה رستوران
diet diéta- diétá- kalória- διαιτα- θερμιδ- дієт- калор- แคลอรี่ ลดน้ำหนัก דיאטה קלוריות کالری رژیم
grocery boltba bevásárl- σουπερμαρκετ продукти крамниц- sembako ซูเปอร์ ของชำ סופר מכולת سوپرمارکت
doctor orvos- gyógyszer- γιατρ- φαρμακ- лікар- ліки таблет- dokter obat หมอ กินยา โรงพยาบาล רופא תרופה دکتر دارو قرص
pain fáj fájdalom láz lázas πονα- πονος πυρετο- болить біль гарячк- sakit demam nyeri pusing ปวด ไข้ เจ็บ כואב כאב חום درد تب
exercise edzés- edzésterv- γυμναστ- ασκησ- тренуван- вправ- olahraga latihan ออกกำลังกาย אימון כושר להתאמן ورزش
sleep alsz- alvás- aludni υπνο- κοιμ- спати сон сну tidur นอน หลับ לישון שינה ישן بخوابم خواب
work munka munká- állás- δουλεια εργασια роботу роботі праці kerja pekerjaan ทำงาน עבודה کار شغل
resume önéletrajz- βιογραφικ- резюме lamaran เรซูเม่ קורות רזומה رزومه
boss főnök- αφεντικ- διευθυντ- начальник- шеф- atasan เจ้านาย หัวหน้า בוס מנהל رئیس
customer ügyfél- πελατ- клієнт- pelanggan klien ลูกค้า לקוח לקוחות مشتری
name név neve hívják ονομα λενε λεγοταν ім'я звати звали nama namanya ชื่อ שם קוראים اسم اسمش
birthday születésnap- γενεθλι- народжен- ultah ulangtahun วันเกิด הולדת تولد
family anya anyám apám férjem feleségem μητερα πατερα μαμα μπαμπα γυναικα мама мамі тато чоловік дружин- ibuku bapak suami istri mertua แม่ พ่อ สามี ภรรยา אמא אבא אישה בעל مامان بابا مادر پدر
child gyerek- kisfiam lányom fiam παιδι παιδια μωρο дитин- діти дочк- сина anak bayi ลูกสาว ลูกชาย เด็ก ילד ילדים תינוק بچه پسرم دخترم
friend barátom barátnőm φιλο- φιλη друг- подруг- teman เพื่อน חבר חברה دوست رفیق
good καλο καλα καλυτερ- добре добрий краще bagus baik טוב טובה خوب بهتر
angry mérges dühös ideges szomorú boldog θυμω- στεναχωρ- χαρουμεν- сумн- злий злюс- щаслив- marah sedih senang bahagia โกรธ เสียใจ ดีใจ เศร้า כועס עצוב שמח עצבני عصبانی ناراحت خوشحال
stress stressz- aggód- félek féltem αγχο- ανησυχ- φοβ- хвилю- тривож- переймал- stres khawatir takut cemas เครียด กังวล กลัว לחץ מודאג חרדה استرس نگران میترسم
feel érzem éreztem hangulat- kedvem αισθαν- ενιωθ- νιωθ- διαθεσ- почува- настрій настрою відчув- perasaan merasa ngerasa rasanya รู้สึก อารมณ์ להרגיש הרגשתי מרגיש احساس حالم
hello szia helló γεια καλημερα привіт вітаю halo สวัสดี หวัดดี שלום היי سلام
thank köszi köszönöm ευχαριστ- дякую спасибі makasih terimakasih ขอบคุณ תודה ممنون مرسی
help segíts- segíteni βοηθ- допомож- допомог- tolong bantu bantuin ช่วย ช่วยด้วย עזרה תעזור کمک
problem hiba hibát σφαλμα προβλημα προβληματ- λαθ- помилк- проблем- masalah eror ข้อผิดพลาด ปัญหา שגיאה בעיה תקלה خطا ارور مشکل
fail elszáll- bukik összeomlik κρασαρ- σκαει пада- падає gagal ล่ม ไม่ผ่าน נכשל קורס נופל خراب کرش
fix javíts- javítsd διορθω- φτιαξε виправ- полагод- perbaiki benerin betulkan แก้ ซ่อม תקן לתקן درستش تعمیر
code kód kódom kódot függvény- κωδικα κωδικας συναρτησ- код коду кодом функці- скрипт- kode fungsi skrip โค้ด ฟังก์ชัน สคริปต์ קוד פונקציה סקריפט کد کدم تابع اسکریپت
test teszt teszteket τεστ тест- เทสต์ טסט טסטים تست
git ágat kommit- κλαδι гілк- коміт- คอมมิต ענף קומיט برنچ کامیت
deploy telepíts- εγκαταστησ- задеплой- розгорн- pasang ติดตั้ง דיפלוי התקן דיפלוי دیپلوی نصب
server szerver- σερβερ- διακομιστ- сервер- peladen เซิร์ฟเวอร์ שרת שרתים سرور
database adatbázis- βαση δεδομεν- база бази базу basisdata ฐานข้อมูล מסד נתונים دیتابیس
file fájl- mappa mappá- αρχειο αρχεια φακελ- файл- теку теки папк- berkas ไฟล์ โฟลเดอร์ קובץ קבצים תיקייה فایل پوشه
download töltsd letölt- κατεβασ- завантаж- скач- unduh ดาวน์โหลด โหลด הורד תוריד دانلود
install beállít- állítsd ρυθμι- εγκαταστ- налашту- встанов- atur setel ตั้งค่า הגדר התקן تنظیم
image kép képet képen fotó- εικονα φωτογραφι- фото картин- зображ- знімк- gambar foto รูป ในภาพ ภาพนี้ ภาพถ่าย รูปภาพ תמונה תמונות צילום عکس تصویر
draw rajzolj- ζωγραφισ- σχεδιασ- намалю- gambarkan lukis วาด צייר תצייר بکش نقاشی
analyze elemezd elemzés- αναλυ- проаналіз- аналіз- analisis วิเคราะห์ נתח לנתח تحلیل
compare hasonlíts- különbség- συγκριν- διαφορ- порівн- різниц- bandingkan beda bedanya เปรียบเทียบ ต่าง השווה תשווה הבדל مقایسه فرق
summarize foglald összefoglal- lényeg- περιληψ- συνοψ- коротко стисло підсум- ringkas rangkum ringkasan สรุป ย่อ סכם תסכם סיכום תקציר خلاصه
calculate számold kiszámol- υπολογισ- порахуй- обчисл- hitung คำนวณ חשב לחשב محاسبه
recommend ajánlj- ajánlasz προτειν- συστηνε- порад- порекоменд- rekomendasi saran แนะนำ המלץ תמליץ پیشنهاد معرفی
decide döntsek döntés- döntöttünk αποφασ- вирішит- рішен- putuskan memutuskan ตัดสินใจ להחליט מתלבט تصمیم
plan terv- tervez- σχεδιο προγραμμα план- сплан- rencana วางแผน แผน תוכנית תכנן برنامه
security biztonság- ασφαλ- безпек- безпечн- keamanan aman ปลอดภัย אבטחה בטוח امنیت
permission jogosultság- engedély- δικαιωμ- доступ- дозвіл- izin สิทธิ์ הרשאה הרשאות دسترسی اجازه
network hálózat- internetem δικτυ- ιντερνετ мереж- інтернет- jaringan เน็ต เครือข่าย อินเทอร์เน็ต אינטרנט רשת اینترنت شبکه
website weboldal- honlap- σελιδα σαιτ ιστοσελιδ- сайт- сторінк- situs laman เว็บ หน้าเว็บ אתר עמוד דף سایت صفحه
computer gépem laptop- υπολογιστ- λαπτοπ комп компа ноутбук- komputer เครื่องคอม คอมพิวเตอร์ โน้ตบุ๊ก מחשב کامپیوتر لپتاپ
battery akkum- μπαταρι- батаре- заряд- baterai แบต แบตเตอรี่ סוללה باتری
city város- πολη πόλη місто міста kota เมือง עיר شهر
house lakás- otthon házban σπιτι σπιτ- будинк- квартир- вдома rumah บ้าน בית דירה خونه خانه
room szoba szobá- nappali- konyhá- hálószob- δωματι- σαλονι κουζιν- υπνοδωματι- кімнат- кухн- спальн- kamar dapur ห้อง ห้องนอน ครัว חדר מטבח סלון اتاق آشپزخونه
school iskola iskolá- σχολει- школ- sekolah โรงเรียน مدرسه دانشگاه
history történelm- ιστορικ- історичн- sejarah ประวัติศาสตร์ היסטוריה تاریخی
earlier múlt múltkor régebben korábban παλια προηγουμεν- раніше минул- dulu sebelumnya tadi เมื่อก่อน คราวก่อน ก่อนหน้า פעם קודם لشעבר قبلا قبلی
remember emlékszel jegyezd θυμασαι θυμησου пам'ятаєш запам'ятай ingat inget จำ จดจำ זוכר תזכור یادت یادته
`
