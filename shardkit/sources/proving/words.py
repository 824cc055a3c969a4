"""Words in the names of folders, and in cells, for images whose class nobody has said, or that are no photographs.

They make shardkit ask, so a word that is a class somewhere costs a question, and one that lacks may cost a dataset.
Latin words are written without accents, as `words_of` gives them. Words of one letter, and of weekdays, are not here.
"""

# Not sorted, not known, not sure, to be looked at, others.
_UNSAID = """
dontknow dunno idk notsure canttell weissnicht keineahnung jenesaispas nonloso naosei niewiem weetniet vetinte vetikke
bilmiyorum незнаю わからない 不知道 모름
unknown unk unsure uncertain unclear undecided undefined unidentified unassigned unchecked unreviewed unlabelled
unlabeled unsorted unclassified uncategorized uncategorised untagged todo tbd later pending review recheck check
ambiguous misc miscellaneous various other others rest remaining etc none null nan na unspecified undetermined indet
ignore ignored skip skipped discard discarded reject rejected rejects maybe question questionable doubtful doubt
help unused sure use usar verwenden gebruiken utiliser использовать kullanma all mixed mix inbox incoming import
imports download downloads dump new leftover leftovers quarantine unbekannt unklar unsicher unsortiert sortieren
sonstige sonstiges andere anderes diverse diverses verschiedenes zweifelhaft pruefen prufen offen neu ausschuss
aussortiert unbestimmt nachsehen spater eingang ablage inconnu inconnus incertain incertains autre autres divers
douteux douteuses trier classer verifier revoir rejete rejetes nouveau nouveaux nouvelle nontrie attente vrac
indetermine desconocido desconocidos dudoso dudosos dudosa dudosas otro otros otras varios revisar pendiente
pendientes nuevo nueva clasificar ordenar descartado descartados rechazado rechazados incierto sueltas sueltos
desconhecido desconhecidos duvidoso duvidosos outro outros outras diversos rever novo nova classificar separar
pendentes indefinido avulsas avulsos sconosciuto sconosciuti incerto incerti altro altri altre vari varie dubbi
dubbio dubbie controllare nuovo nuova scartati ordinare rivedere nieznane nieznany niepewne niepewny watpliwe inne
inny rozne sprawdzic sprawdzenia nowe nowy odrzucone onbekend onzeker twijfel twijfelachtig overig overige diversen
nakijken controleren nieuw nieuwe sorteren okand okanda osaker osakra ovrigt ovriga annat andra granska nya sortera
ukjent ukjente usikker usikre annet andre ukendt ukendte andet tuntematon tuntemattomat epavarma epavarmat muut muu
tarkista lajittelematta neznamy nezname nejiste ostatni jine zkontrolovat nove bilinmeyen belirsiz diger digerleri
kontrol yeni ayrilmamis necunoscut nesigur altele noi ismeretlen bizonytalan egyeb ellenorizni uj agnosta agnosto
alla diafora tidak diketahui lainnya lain belum ragu campuran baru periksa khac chua khong неизвестно неизвестные
неизвестный неясно сомнительно сомнительные другое другие прочее прочие разное разные проверить новое новые
разобрать невідомо інше інші сумнівні перевірити άγνωστο άγνωστα άλλα αβέβαια διάφορα 不明 未知 待定 待分类 待分類
要確認 確認 確認待ち 保留 その他 其他 其它 未分类 未分類 不确定 不確定 不確か 可疑 疑似 未確認 杂项 雜項 기타 미분류
불명 불확실 확인필요 보류 미확인 أخرى غير معروف مجهول متفرقات לאידוע אחר שונות ไม่ทราบ อื่นๆ अज्ञात अन्य
awaiting waiting rechecks reinspect reinspection wiedervorlage ruckfrage nachprufen nachpruefen reverifier ricontrollare
attesa esperando reinspeccion aguardando reavaliar wachten herkeuring oczekuje odottaa vantar omkontroll afventer
bekleyen вопросом вопрос перепроверить перевірка 再検査 再検 再確認 要再検査 検査待ち 未検査 未判定 复检 复查 待确认
待审核 待审 재검사 재확인 대기 roztrideni trideni vytridit netridene nezarazene triedenie zatriedit szortirozni sortat
"""
# Not as the camera gave them, or no photographs of the subject.
_MADE = """
mask masks maske masken masque masques mascara mascaras maschera maschere maski maska maskeler маски маска 掩码
マスク 마스크 foto fotos bilder imagenes imagens immagini zdjecia afbeeldingen photographies fotografias fotografie
снимки фото 画像 图片 照片 写真 사진 obrazy obrazky kepek poze resimler gambar bilde billeder kuvat broken corrupt
corrupted duplicate duplicates dup dups dubious blurry blurred blur unsharp overexposed dark failed fail whatsapp
dcim camera screenshots screenshot old temp tmp final copy backup crop crops cropped resized resize scaled
grayscale greyscale hr lr highres lowres depth rgb compressed preprocessed processed archive orig original
originals sample samples
example examples demo preview previews thumb thumbs thumbnail thumbnails montage montages collage contact sheet
sheets overview overviews debug vis viz visualization figures figure charts plots augmented aug synthetic generated
fake drawing drawings sketch sketches painting paintings illustration illustrations diagram diagrams poster posters
logo logos background backgrounds calibration calib darkframe darkframes flatfield reference references ref cover
covers kopie kopien duplikat duplikate unscharf verwackelt zeichnung zeichnungen skizze skizzen tafel tafeln
vorschau archiv ubersicht beispiel beispiele alt alte entwurf hintergrund kalibrierung doppelt doppelte muster
verworfen copie copies doublon doublons flou floues dessin dessins croquis planche planches apercu exemple exemples
ancien anciennes brouillon vignettes arriere copia copias duplicado duplicados duplicadas borrosa borrosas borrosos
borroso dibujo dibujos bosquejo lamina laminas ejemplo ejemplos antiguo viejo viejas miniaturas muestra muestras
fondo desenho desenhos esboco rascunho exemplo exemplos antigo antigas velhas desfocada desfocadas desfocado
borradas borrada duplicata duplicatas duplicati duplicato sfocata sfocate sfocati mosse disegno disegni bozzetto
esempio esempi vecchio vecchie anteprima kopia duplikaty rozmyte nieostre rysunek rysunki szkic szkice przyklad
przyklady stare kopieen dubbel dubbele onscherp wazig tekening tekeningen schets voorbeeld oud oude dubbletter
suddiga ritning ritningar skiss exempel gamla gamle uskarp uskarpe tegning tegninger eksempel kopioita epatarkka
epatarkat piirustus esimerkki bulanik kopya cizim ornek eski kresba kresby rozmazane mazane regi masolat homalyos
rajz pelda schita copii neclare buram kabur salinan contoh lama nhoe mo копия копии дубли дубликаты размытые размыто
смазанные рисунок рисунки эскиз эскизы пример примеры старое старые брак θολές αντίγραφα σχέδια παλιά 模糊 重复 重複
ピンぼけ ぼけ ブレ 手書き 図 図版 イラスト スケッチ 手绘 插图 草图 例 样例 サンプル 備份 备份 バックアップ 旧 古い
흐림 흔들림 중복 그림 스케치 예시 백업 복사본 샘플 도면 참고 참고자료 ضبابي رسومات نسخ चित्र रेखाचित्र
auswahl favoriten favorites favourites favoris favoritos preferiti selection seleccion selezione picks
miniatury miniaturen miniatyrer najladniejsze najlepsze schonste schonsten beste besten mejores melhores migliori
meilleures nejlepsi referenz referenzen referenzbilder lieferant vorlage vorlagen referencia referencias riferimento
wzorzec wzorce etalon эталон эталоны 参考 参照 見本
zeichnungen skisser teckning teckningar tekeningen piirustukset desenler रेखांकन ภาพวาด
"""
# Of several images in one.
SHEETS = frozenset(
    {"contact", "sheet", "sheets", "montage", "montages", "collage", "overview", "overviews", "vorschau", "ubersicht"}
)
UNSAID = frozenset(_UNSAID.split())
MADE = frozenset(_MADE.split())
