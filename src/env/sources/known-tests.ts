/**
 * Test problems that others report rates on: the 119 LeetCode problems of medium and hard difficulty of Ariahw's benchmark
 * (github.com/ariahw/rl-rewardhacking). A run that trains on them measures nothing there, so they are recognised, by id and method (also as
 * LeetCodeDataset, which they were taken from, names them), by statement or by solution, or by passages of either in any text, and refused
 * as training data of every source, in pairs and demonstrations too: arms learn from them. Only short hashes are kept here.
 */
import { UserError } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import type { Pair } from '../pairs/pair.ts';
import type { Problem } from '../problem.ts';
import { withoutNames } from './local-names.ts';
import { statementOf } from './overlap.ts';
import type { Splits } from './splits.ts';

const prints: ReadonlySet<string> = new Set(
  `
  0009582577 003392476b 0090fc0bc8 00a3f2d079 00ac9bc1f2 00fa30088a 0137bfde70 016e6c3c97 017b205f26 018ce2c91f 019fb0b7c4 01b20176a1
  01c27c7bcb 02192f2ed2 02250bf93c 02603d9b6b 0270650058 0277e540bf 0299af62b8 03369465aa 03370e8e04 03456bd075 03efe94f3b 0449f13759
  0454cfa35c 046ae258c6 04aa2af21e 04e12fde44 0513b1d5ab 0519719f4e 05217dbc97 052e246a6f 058ebda609 05e2b29a06 05f7c63709 0619105887
  06510e849e 06cd500378 06e88097e3 071b5ca295 073b5a0fda 078a6475f4 07fe57a787 0835750439 08507eca29 0868137d33 088e5eeefd 08b381965b
  09052931c0 095285028d 097fb6f590 09834be075 09a5ad346c 0a436913f3 0a6e447740 0aa1fcc570 0aa5d27b00 0acb109e6e 0ae4fb5792 0b34cb3315
  0b4adc22ee 0b8a0062d3 0c151d33fe 0c5453cb79 0c6ba21ece 0c7cd20d1c 0cc3ebe6e2 0cd3e729c6 0d34702ee0 0d49872c7b 0d7679a257 0d8a5dfd9e
  0d8b44f525 0e34cfde39 0e5fe0ebb8 0e71c1955f 0eb5352261 0ef87ea6dd 0f07a09a21 0f7a09ce5a 0f85aa81d4 0f9e2d0e16 0fbea9a58c 0fd3de29ae
  0fdef717c0 1002832eba 1046680b58 1049e7e63e 10a5c38b2f 10c1950be4 10ce59b3aa 10e324495e 112208ff96 11309c3677 11c2e0df92 11ffae583b
  124f3c6631 1263bb2bbd 126f00c37a 13024c73df 1323167ad3 133217d978 1343798ff0 135dbc6c29 138db4f95c 1392428181 13baaf24cc 13d3f57b84
  1449ac34aa 14613c0c13 1468e3c4a1 148fb9fbf9 14af843621 14e16c56ea 1558b43d8e 1572d77f48 1575d2bc18 159694b882 15a083b436 15e06d1add
  160c41b7ff 164e47ac42 16d625dade 16dc69334f 16dc8c291d 16dcdfdcfa 16ebcc9cd9 172f0c9d29 17371df448 174ead6720 175f11f84c 17704f2ad6
  17c8734032 17fe3a42b5 1830e1c926 186c94df7d 1874d57338 18882636a8 18ced14901 18e539e5c3 18e9f606a9 18ef535a4f 18f461d7b2 192b057111
  194f383a5c 19559388ad 19640933b4 19946e9325 19b4532d05 19cceb5d5f 1a436e50bd 1a5d8be157 1ad8f02d82 1af222480a 1b1c530f43 1b34126964
  1b34a82e1a 1b4a8f6d4f 1bf5458c81 1c298f6269 1c2c43d22a 1c2d630e04 1c43ae9bf9 1c51294d21 1cae8d3924 1cc192d1a0 1cd0d4c1f9 1cd91a31a1
  1dce75e643 1dd59ed826 1de0eeea15 1ded9131f5 1df16e1feb 1df8cb0de8 1e133cb2e6 1e45ba5c06 1e7445c764 1e7715b38e 1eb60b978a 1ee60b49fc
  1f36226665 1f627a4999 1fc24f10c3 1fc5b7cba2 1fe8a3347d 1ff92f47fe 2038bfa2f1 203fca69d4 208fbf675b 20d4afe481 20dc8cb25d 20e306b042
  20e61c2882 210af88d6d 213098ca5f 21753d5b05 219ff4c8d2 21e37f3593 22033b0d96 2227b18f20 2245c37348 225a4b85ed 229c2fc91f 22af841e17
  22ba6e8950 22bcd8a893 22bf1ddb4b 22e32635ae 23b3848e12 23c50ebfee 2407b9cc5b 246c26de44 25227c7d44 25596a7763 257c06c005 25b1643adb
  25c195b29b 25dfd6ff9c 26122df188 2619213628 264a2d2c41 264de2cd68 267a33ca13 267b0b8686 270021e23f 270e72ca0d 27216090fe 274785d3df
  275807057f 2776cbe151 27aeef7950 280523cb9e 280e87c9b5 282215ff09 282cce7cd1 2862024a5a 287c58475e 288414ccd6 2888352c98 289757d7e6
  289b58132c 28bd58b46c 2940c62e82 29520ba950 298712bed1 2987dd242b 29afc5de18 29eec17ef8 29ffe9aa98 2a27c208ca 2a6cba5047 2a83b8a1c9
  2aafd7a39e 2b09b84fd4 2b1054927d 2b11ad54b6 2b3fbcd29f 2b408a172e 2b44539fbc 2be50eb477 2bf6ff61f5 2c040c8d8a 2c666b6d16 2c75ed4460
  2d027456fd 2d369dc3fd 2d51a271d5 2d5da682ec 2d70e3e943 2d7c476586 2dc4c720bd 2dd865e65c 2e56ce8bbe 2e5e335c71 2e7e1755da 2eb108d7ea
  2ec9383bbb 2ee194d494 2ee92ebab3 2f081d0007 2f28c1762f 2f2b21cdee 2f60ba8b99 2f635ddaa8 2fae279dc4 2fb98a00cd 2fd389877a 2ff7678c88
  30194104ee 30704a5874 30d5f1bf33 3118034201 311aecef11 31280f036d 318bb9c73f 31af5fe885 31bc9bd669 31bf81add1 31dfe103aa 31fa9d84e3
  320a19ec96 3238050119 325b5a03b0 327801b0f8 3289c318e7 32b212f255 32c9b9728c 32ca458831 32cec5e9ea 32e892a2d4 32e963eeab 32f4ba07ae
  334db360fa 335e924358 3390fa235e 33917f26a2 33aedecf0b 340724d18f 342922d981 3459cca625 3486b71d37 3487ae577a 34aac488cc 34c4358d73
  34e308181a 34f4352f91 35183ddb1a 351bf69a95 3526800bef 35419e5ab9 35788622cc 35ac7ad0e6 35be8d8c40 35e0b85ad6 35e3411c1f 3606eaa608
  36144861f6 366c958fc3 367d4053ba 36b715a536 36da0b1b0c 36ea76c49e 36f7627b3a 3748601d04 376587ef65 3773a54ae1 377c60574e 37986a125a
  37e2201004 37f48d8dba 3851d8eadb 386080fe84 389af464e0 38c5c551e5 391385ea1d 39561c6b86 39792a28ef 398715eb62 399367a86a 399a816080
  39a9ce99e9 39c99856a5 39ef039529 3a1678011a 3a1f0cbc47 3a47bc4b98 3ab9be93e1 3ad560f32c 3b03c56499 3b0d4525da 3b1c646c7d 3b2f0d3519
  3b3c8e7ce8 3b408eb5cf 3b44a317eb 3bc0d9f300 3bc5a03c67 3c07025c62 3c2c5e0fed 3c6d75fa15 3cb2e204df 3cf32c2d05 3d060630be 3d0c04d9ec
  3d241cf2de 3d6ddc4a03 3db4fb35ef 3db9717e1c 3e928b98ea 3f3774972d 3f41511abf 3f4aadd352 3f5b6fc8fc 3f7b466229 3faf50b303 3fd57ef835
  3fde6c6b56 400127bf15 4003602d6d 401d4382da 404abe22d7 4086cbe857 409f8cfd21 4174316396 4176344a15 41ba08b913 41c8bf9e75 41d58b04ed
  41dcbe3fe8 41e4fa73e2 421bf2fe82 42295c0969 4247affb82 424baa609e 42610f62dd 42a0b08f5a 42a56ae615 42bdbc7e1c 42df884e79 42e020fe1f
  4308aa1307 434ef1cc57 435e072e44 4365ca2a50 436a31686d 438d747090 438f6db158 43f2d3dc07 43f7876516 43ff385137 440ef22b5b 442f78a898
  444d51d066 44562ae142 448bbb9420 44dec07855 44e72810eb 456b23ac21 45af859185 460e183b7e 4637d419d8 46438497e8 464c3d8152 467c9ee251
  46a7fcc37e 46efeecd26 471aed0324 474f80c8ae 47663222de 476a1152ae 47a844f851 47be0b44e9 480479e585 487e2a49f8 4895355446 48bd67b113
  48c2e72056 48c3409f14 48dce344dc 48f4ce4c6c 48fa2abebb 4911481f8c 491d77603a 4924bf45f3 492fdf4d3d 4949881be8 4952fafe9c 495cf75202
  49a0385251 49c770cbdd 49c7bfade9 49d1618673 49d4f54473 4a1311d79b 4a169df8d2 4a4830e1fa 4a54430c2c 4a60c10b10 4a87d8e003 4a93005c2e
  4b72631b91 4b73037dd5 4b90800f92 4bbacc4e87 4bc0c1969d 4bec715e9b 4c5f3dc63f 4c826acd1e 4c93fba558 4cb140b6d8 4ce2db3f1b 4cea0c8fab
  4cfae04fbb 4cfcc3306c 4d26d9cc39 4d507cd3b0 4d5587490e 4d61598c71 4d95d61a1a 4da724a4dc 4dc170cb8d 4e3ddeb042 4e70b029c2 4e8acdc6e7
  4e9b8093a9 4ebce3516c 4edd4d1efa 4ee9ce85cb 4ef7885061 4f22e953bb 4f47bc2b75 4f7bed9b67 4f90ffc968 4fa6a98eec 500574b779 501441e70b
  501a0a04a9 506e695e39 5087b449cc 50bb8f884b 5106333e36 511dc9acbd 511f29ccd8 5155d89e9d 515d14df3e 51ce499f87 51d6e4ebbe 51e35d239f
  520a557d1a 526ef4c169 5276e8ae48 52caa71bb3 533e7a0240 539374a215 5397cee28d 5398e09589 54150d01cb 543a96da80 54680bb6c6 547c10d961
  54865d7e18 54964a59d3 549cfbc72e 54a027a272 54c53699a7 550c6330ce 558d62e3d2 55e4d1a946 55e89c17a3 55fda56faf 5640431772 56aff62c02
  577ca3a6c3 57b2998c5a 57c62e9257 57ca6b07b9 580d6c038b 584c0bb75d 586003aa3f 58c0e4ddd5 5903650184 590943789c 5982b772c0 59b479e5fb
  59c5623c50 59cebfa60c 59d9305f60 5a2eaed39a 5a43a8807b 5a4ebd1c56 5a9061d31d 5abb861b08 5ac5663e54 5aea2e8c51 5b1521eb5b 5b7c2fdd90
  5b84952dbf 5b8ade1f57 5b976db83a 5b9e160e5c 5baa65028b 5c045a2260 5c0725d4b3 5c6f63b7d5 5c7faafb11 5cd059b8c8 5ce966dbe3 5cea0fe0c9
  5cfa04eb8e 5cfd05da7f 5cfd6c0549 5d273a60f2 5d33091ef5 5d5a527016 5ddb9508c1 5dfaeeee89 5e4223f4b7 5e72f25271 5e8b300be9 5e919a4e3d
  5eb55afd01 5f5cf1f900 5ff8ad3ae3 60369dab27 606faa4d07 607628fa30 60a629dc51 60e52ad2d2 60f87ec84c 611e7acd73 612456091c 616c5bfce2
  618b07de02 61c0549fd2 61c4aa90b7 61c97bda31 62b62220bf 62d083ce4a 62da066905 62edce6c8e 62f0adc632 63392148ef 633922a4e3 6341545463
  63abaa9272 643f1155d1 6440738b85 64493990cc 644ad8820d 6495d9ca4d 64a3dd3280 64b9aeda75 64d755700e 64d9bc9b88 64f65d32da 65102386dd
  652d6c55f6 652e6a4e13 655befe147 65a07f9720 660031425b 664313cf2e 66823228ba 668eccbda6 66caa8d6c1 66d3dbac5c 66f1008f28 672bebd43f
  672ca631ea 674eb4272f 67765e8bb2 679b26de82 67bf204ed3 683060bb12 683fe0dd02 6862767049 686701d891 68adbc7fbc 68b06f162c 68b141f255
  68b4addfe9 6917250d8c 692395c86c 69320a2302 6981e90d13 69bc266a45 6acf7ef213 6af5009930 6b016ace0a 6b2e2d8253 6b31095e8b 6b5d6453eb
  6b8e2cad0d 6bb10b66b7 6bb4ebfa50 6bb7ee2458 6bf02acef3 6c591757f0 6cc3d33bc6 6ce5ed2698 6d05cf8ce1 6d3eeadf47 6d7b44c757 6d8bd6e735
  6da5e3ee96 6dda6954d1 6e003c61bc 6e34737599 6e7028bf08 6e75fee97d 6e78202a85 6e8712fbcf 6e91dde7e1 6eadfe1dcb 6eb8246e7c 6ebc6cb352
  6efe574862 6f02b453bc 6f0ebc7cc5 6f20708337 6f2612d7d3 6f286441aa 6f31bb264a 6f84e6effe 6fb93a1235 6ffa1512b5 7059bcfbc1 70914a04fa
  70c020a54c 710260e3b2 7168028063 7168a96c0a 71aa73d0d3 71c4a10ce0 7248a0b2a6 7264c7dcbe 72fbdedbee 7307050e6d 73116cbf9b 733f8aa8bb
  73e83fadf7 740bc88486 741efba328 74330d508b 744efd850e 74832a1930 74946d29cd 74a8a3aa45 74c23f39cc 754af592df 755856b3bb 757005c62c
  7599644dd2 75c4564de4 761958d65e 765a32c363 765fa0de94 7680a73780 7683c8c449 7694ce5fdf 769ed296a8 76c772f22d 76ccfd4348 770137b423
  77028e4167 7703a7bb42 772fed8c60 77622b7b56 7765c64d3c 786e3b0fbd 78b2767c24 79210be517 7934c96276 7971b37511 7980a7f292 79c930b57f
  79e1ff61ae 79e57f0a62 79f9a72738 7a07c2d91c 7a1c00f17a 7a53f12b3e 7a66b2a2b9 7a6c8140ec 7a8c6a9697 7a9a14ae50 7a9b0f2856 7adbe36cf4
  7af2593e9c 7af904a508 7b5c1a0730 7b6acd810f 7b80a9eded 7b9eae748a 7bb1303eb7 7bfaccfc15 7c2d88d62b 7c3d9ac087 7c69d3489c 7cbbaad0e0
  7d1a19342d 7d676c762f 7da058430a 7db4f259e2 7dd4ad0615 7ddedf18b9 7e354a25d1 7eb5bb1acc 7ee51e7c7c 7ef00cebdc 7f00868d5c 7f23075a83
  7f250e2891 7f2f8f3fcf 7f6ebe76a8 7fadc7ed46 7fb317b1df 802a0cfa2e 803ccc5ae9 808b2e3273 8097e6e53e 80c40f472b 80d98ed658 80e3add81a
  80f1c5f10d 80f7d7a0f7 811510c7cd 81400e3742 815e50d074 81930b1c7c 81ec753452 820f26ee8f 828b2bdae9 829fe9b4fd 82b11a9807 82c6a8552d
  8307a778ef 831bc45f5d 8337379e53 83618febfe 83833c09fa 83a45bbba4 83bc94abb5 8406162e80 8427106c1c 84389ca062 84b49cead4 84bcd22c3b
  855bea1441 857a2609b9 85973324cf 85a3c666b8 85d0bc008d 85dad12ca3 85f677169e 862e8db413 8633c14af1 86342a2745 864bc8fec9 866677a615
  867e4a4009 86d32368ae 8715172714 871574266b 871655eda7 873bc4e394 8740426ea0 8744095b42 8754bab519 87f8c37b6a 87ffb7fc6e 880bab9487
  8838e45d3a 8846c06676 886cea783b 8872e8b702 8884737fd9 88a18d8afb 88a7c88602 88eda6c921 88f9a7883d 897a6630f5 898af957ad 89d12f11d2
  8a01aa0ed6 8a1f0dcf86 8a65a3719b 8ab0a23208 8ac71dcdeb 8b007d0323 8b04baee27 8b3c63c4f0 8b3dcde133 8b6b242954 8b6fc0f526 8bc338359f
  8bfc6f4590 8c021946e7 8c2c545248 8c8c2116f2 8c9e0e8527 8cd8728a10 8d11ab4336 8d2cc48760 8d354b4b0f 8d5a5635f1 8d5c981cd7 8d6287e4e9
  8d64c9c545 8d7340cf8a 8d91a16ef9 8dfaa261a2 8e3926b91a 8e7f048203 8e86f95a80 8ebc053760 8f431434fc 8f9ab855b4 8fa8ff036d 8ff121db2d
  90288eeff2 90e510f178 91334478bd 9134632de2 9162a41356 91f879d7b8 92548cd3fb 925675efb8 926ef14527 92a17fae4e 930fc204a9 93168dd634
  934c92ff05 935333b4bd 93831f9acc 93fffd191b 944b66a1d1 946969847a 94731909e7 947914eb80 9490648157 949077ea36 949a926340 94ad99041c
  94f457828a 95026a44e8 9521f693f5 9541d9091f 95537b6ba8 9553c27cba 956e2695b7 95975fb6dc 95b0ffae03 95f62cdb19 95faf3ce7a 96184a71b6
  963b9e493c 964d03d04a 965b8c7c55 9672ada25a 967449994f 968efc9a52 969e5cc264 96ba3b4f27 96bae93ab8 96c22be6bb 972e25722b 978e58c8d2
  9796601515 97ab82da9f 97adf57fc3 9882ccaf68 98a33e9c3d 98b68cff2e 990c0d7839 99238c20c6 99270a496b 9965760a2f 99ca73b852 99dd309849
  99ddf4504a 99fe8a53c1 9a24f6b394 9a9d0bfa8e 9adc9a3e2b 9b06028fbd 9b1493b65b 9b2cc0b9b4 9b43568d0a 9b76198aeb 9b8718d69c 9b9aec8ee8
  9bb718597c 9bbb1c6a9b 9bdc0955a5 9c4d48fea5 9c660877c8 9d04c05297 9d0e6306b7 9d23923513 9d747c26aa 9d7f0c4c63 9dba16710f 9dd0e31a7d
  9e18b6a15e 9e34bd7f41 9e3c6a77fd 9e7b159f5b 9e98dd33af 9f04d7ce0c 9f0e5eb348 9f26dfacc5 9f57da9686 9f824dd6c8 9f96128fba 9faef0836c
  9fc07272f8 9fcdae279d 9fdcbec6ec a045791d7d a0486cb99b a0db816f93 a0f778a28f a12a698821 a151509251 a15de62f97 a16a880214 a1bf48dda0
  a1c4b7c5a6 a1df9393f6 a1e62c9e28 a23b854d38 a24e61073a a26ec1583a a27b79eded a2bf81a9b6 a2d8b918af a2eba32c3c a311f4a006 a3454a823e
  a34670599d a375fce172 a377d4b0ee a3ac9fa7fc a3fd3486b0 a431b58ae4 a44b4d814f a4578bdc92 a4743365c3 a494ec771b a4c8142aeb a4e8afd249
  a4f283c768 a557acd425 a55d109297 a56d453e9c a56d7f15bd a5f38f2686 a623adee2f a685d2be01 a6c8c4528c a6e289ff3d a76b64ac28 a77dc238c3
  a79b7ea038 a7dd6a2f00 a7fad9a103 a7fce961bb a81ba5a087 a81fe702cd a85636e69d a87ae4048d a88559865c a89881b53e a8a6d3a674 a8b242c15e
  a8e469c189 a8ea23fb98 a8f3b29fc9 a92ec20e69 a973ff0106 a998a5ed69 a99c0ac11a aa13db0f64 aa5ad7859b aa729b3f6f aaaa9e92fd aab7606f2f
  aabf413e68 aad60ae462 aae2e136c9 aaea669875 aafa3851df ab554fccea ab590f6b31 ab6af9115a aba0dc9f1d aba0dcbcac abbe2f89df abd076c28f
  ac8b67edab acaf7c59e7 acb0168f68 ace37e4f73 acf22b5fe3 ad040311e0 ad0df274eb ad345f42c6 ad3ae54cc3 ad4b4fb869 ad884a43fa ad9c1a9edd
  ada92da677 adc7b1d406 adce15d8b8 adf510c648 ae64358504 ae6cfa0c3f ae84d0bb7f aec7dcef8e aed16bbb59 af27d034fc af59273861 af90fe48e7
  afdb02005d afe4c58b08 b051b4c639 b057ed8e5b b071a7fb6b b0d1eb399c b0d21f73c0 b12a386d69 b137b39844 b13df3eecb b18b60544d b1bcdbba4c
  b1bd6ac801 b1dbc8a15e b224e38c85 b31160134c b37395b84e b3753f031a b3e214a4f4 b3fcba159e b40025eff4 b422d77eb8 b49184d6da b49a2c7d33
  b4c1241abe b4f80b8f49 b52e01778c b53a876e9e b540a3c5ae b559b4ead6 b573a966dc b5829f8ae5 b582b11402 b5b0673d95 b5c74209ab b5e30fa6cf
  b625ca8a6c b658f35a66 b6658bb36f b66e078f81 b6b020a292 b6bbc8d013 b6edc6235e b744f824ac b767bf5603 b793b6e070 b7b349c964 b7d24e2484
  b81d662670 b883ff37c6 b89460e210 b8985bd293 b8c8e3e886 b8e7a2c434 b8e7bcc29a b8fa6ab9bc b97fbbc7c5 ba4f41585a ba85248af4 baafc3fea2
  baba7e6eaf bac43813b1 baedf26bac bb202c07b8 bb29f6e905 bb30c8b7a5 bb31e46099 bb4b41cb26 bb5970812e bb65bf0f5b bb78d350e1 bb84b905b7
  bbac8b6268 bbbfc7e7a8 bbc58daf92 bc4077cb60 bc955536ff bcaadf4c67 bcc731685a bd0fcad4a0 bd16493fc5 bd88e46313 bd9222d67d bd97500d0f
  be65048fc9 be9aa06940 bf318b8f07 bf392a5888 bf3a741a5c bf3bd06d0f bf53f5eeb0 bf6df2b641 bf78914e3d bf82af7ec6 bf8899a7e8 bfb1479c6a
  bfe3dcadb4 c00875b4e1 c020235b1e c04bd260ea c071cef75d c09f2eb420 c0aa44640d c192ec505f c19e201b9b c1c22f7329 c1cd8c201a c1f4546d42
  c20d94e44c c2284e40d9 c23af68439 c2563f9fef c25af62b88 c29ca87ce1 c2efa8d50b c30e7f478b c31ac7c7fd c3488232f0 c3aac28e78 c3d79ee1dc
  c3dba73b15 c3f62ebdbb c43dbe0d4c c44647e853 c461ec4f7c c490cb5f17 c4a8312742 c4d3fd7ad8 c4e505e09a c4fb8a2c39 c526fa84ea c52effc544
  c6435db205 c6669c703c c6770a2eac c6dc2b356a c6e5f145c4 c70c817d41 c71c1323f6 c74f713f78 c75ef0bd3f c77b04921a c797724ee3 c7b4cf3392
  c7e91a7ffa c83c6d9112 c898a4a2e0 c8e99890c2 c92f3b5264 c93253930b c94ca330e5 c9d428051b ca2a482d35 ca3703100b ca51eed5a9 ca560997ef
  cb2187e53f cb288312dd cb3d2b8fc3 cb471f8a1d cb63e3a8fe cb808f5306 cb88c62b6f cb914a19a7 cba1e7db0a cbaa0dbf04 cbb477b529 cbd9a75263
  cc008c0d6b cc067ecfb9 cc3e8702b6 cc67ba4e11 ccb300cc6b ccc2358ad5 ccccafb70c ccd62ea91c ccfa6e233a cd1607bc8f cd28e62fad cd322a8662
  cda6c192f1 cdce415dce ce013a271d ce12588eff ce1ad336bd ce32b2d618 ce38c97ef9 ce6464f4a0 ced175fb53 cee5d26d06 cf0cc3d9cd cf153f3b36
  cf1ffd9ad9 cf40d09748 cfa762321f cfbc8271a9 cfc489b805 cffabaf93a d02dc5475b d03b1d13cd d05f9f1379 d085154a9f d093e56412 d0e12d1842
  d0f77fc945 d11b9bc25b d193912e46 d1ad9e7bf6 d1d358a441 d1d7be3491 d22a723a2d d24cda2bc0 d2645883c2 d265abf3ce d2692c1b3b d28d1ae160
  d290a6ea60 d2c1e1f51e d2ca84f57c d2d4cef535 d2e52794d1 d30389b1e8 d32d8dea0c d34beb517c d377084b16 d39f0a1484 d3c0ab8ed2 d3f8a82206
  d430bc9411 d456135f7d d458535fd8 d4ea6e867c d576de1eea d5860b8a93 d5c3d01853 d5f09a7094 d5f62435a0 d6117e6744 d612a87b2a d653f35430
  d666f11f6a d6980d0f8f d6ba39b174 d6d5f3cc2f d72f05ea11 d7447cf2d3 d78995b165 d7aef602bc d7b9835079 d806d40d6a d84f519472 d853cfcdd2
  d87bdd4343 d8acd3629e d8dfdb6089 d8ee0b6db4 d918d941fd d95cdcc683 d99ea6c5ae d9bb41c0bc d9ddb9def8 da243869b7 da5ef2900f daba90d66a
  dad5ad6bfc db4dc4c855 db77f8d6cc dbdb764f4d dbdea7cec7 dbee3214b7 dbff3bfdd1 dc32a91879 dc6841fb64 dc8274e012 dc82acd752 dca825d96f
  dd0c4504e9 dd1b0b070d dd3a3443ec dd5508a41a dd6db529fd dda85c4b3c dde29c1bdf ddf56a3cef ddfc2fa457 de1a141960 de4b619fd4 de4d8e2012
  de644e77fd de931b1955 dec18c00d8 dec3efeaa5 df15925a3f df2fe36862 df72d84e77 df79f1893e df8f53b1ba dfb756e51a dfef9bb10f e063a823c8
  e06706c5ea e0cfad89d7 e0f01099dc e0f8a3026e e14f70a6f6 e161c773ec e16ff8d58a e1748628df e19e49c7dd e1bed284d0 e1ca95b07e e1dee76d2a
  e1f76daa3e e1fa7664e3 e21032d97c e215526e82 e231559e9d e261a34ae9 e2781ac7de e2de5c277d e2e28587dd e2f96d0aaf e34e2b983c e3623d097f
  e37ce20592 e387f3f081 e394fd0371 e3afc401ac e3ccff3f5e e3ce5b91a6 e42489723b e4327b03c0 e45d6c5948 e4725e5823 e472fae810 e484d9eb69
  e4ab11f627 e4b4ea78fe e4cad2842d e4dbfe5f2e e51c0ca6bc e53a178875 e566f171b3 e57ad18e4a e59449ab44 e59ae658ba e5ec249ff8 e62031e366
  e62d9ed05d e63f8069f4 e640640a83 e6a58518c7 e6bce1e29c e74c14c8a0 e77b5112d2 e7fe22769e e852921eb3 e88ec56659 e89a6d4919 e89ab3be41
  e89f4b6847 e8b73e919f e8c115eefd e90d9b3c9f e920ce4adb e92520faae e92b94e4b2 e96eeb01cf e97395435a e98c218f55 e9f4f6e5e1 ea4455116a
  eaa455ee69 eab313f1b9 eab5749ea5 eac93778db eacb2df0e4 eb041f64a1 eb23672a2f eb480315af eb5f471c49 eb77bfbc95 eb93b34d4a eb9bd206c7
  ebe10f5ed0 ec0e2f5d2b ec13f3bd45 ec20adf437 ec2f5c4f6a ec965c33af ecb89c448e ecd7eff002 ece31137b2 ed21622c1a ed3cd0e19c ed850c97ae
  edc55e838d edd8ca4fe6 ee18bc87a0 ee4674841b ee61a91408 ee6c5759ee ee84a1bf64 eeb6634f58 eebc87aae5 eec973c3ff eee434e8bc ef61149af5
  ef7acd6bc7 f00cc6c6a9 f03755b60c f07cbe7faa f0918cb062 f0dd60235d f125d0f533 f159b1d781 f1660764ef f1be115837 f1e041ead5 f1f2a9be3e
  f21da89ee0 f2234f2339 f224ec2e72 f24e463e5e f26d3a4606 f26e19a5c0 f297631009 f297e4a595 f2c8203c13 f2e33a1c59 f30417ade3 f315684588
  f319df572c f34a7f0406 f3976c308a f3b362ba74 f3b4bc628f f40980d219 f44a2a94a6 f4a11ccd43 f4a5f0d9a3 f4ea4855ad f5524096c9 f5634d0b2f
  f58b7f2437 f5ae051137 f65497ea2d f679157894 f6935af351 f6ab717dc5 f6c839232a f6fb2bf8a3 f70151956f f72f1d50a4 f77cfc3301 f78cd63ea9
  f78d24c3c7 f7ae3412c0 f7b08913b6 f7b0e4b234 f7debbc741 f8500fdc98 f85f322041 f8a0f05e2e f91ecd0ab7 f97670c455 f9e8fc6ec9 fa302da9e7
  fa48cc1236 fa658b198b fa722a18f9 fa8dbc51a9 faa997ea5b fb222a9c0a fb7fa918f0 fb99c0a0ec fc241e7d3b fc3bf20df0 fc56d0b23a fc8afc1d63
  fcff2951f3 fd0fc574a6 fd16ae1bde fd9be793d5 fdbf62af0a fe09d1067d fe4c28860f fe56ba5e74 fe8416893f fea0ccf402 fec8a6be7e fee0912cb5
  ff119b8ff9 ff1ef1a390 ff33684170 ff4cbaf8c7 ff64c5850c ff8445579a ff8ecf573d
`
    .trim()
    .split(/\s+/),
);

const printOf = (text: string): string => sha256(text).slice(0, 10);

/** Of a solution, whatever its variables are called; scripts/known-tests.mjs makes those that are kept. */
export const renamedPrintOf = (solution: string): string => printOf(`renamed ${withoutNames(solution)}`);

const passageLength = 48;
const leastPassages = 3;
/** Letters of Cyrillic, Greek and phonetic script that look like Latin ones, and these. */
const lookAlikes = 'АВЕЅІЈКМНОРСТУХԌԚԜаеѕіјорсухһԁԛԝӏгѵвкмнтΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχγıɑɡ';
const looked = 'ABESIJKMHOPCTYXGQWaesijopcyxhdqwlrvbkmhtABEZHIKMNOPTYXaikvoptuxyiag';
const latinOf = new Map([...lookAlikes].map((letter, i) => [letter, looked[i]]));
/** With brackets, marks of lists and quotations, remarks or `line` about them. */
const lineNumbers = /^[^\p{L}\p{N}\n]{0,9}(?:line|row|l)?[^\p{L}\p{N}\n]{0,2}\d{1,8}(?![\p{L}\p{N}])/gimu;

/** About one in sixteen of the runs of 48 letters and digits of a text, without markup, escapes and the addresses of links, chosen by what they say: a copy has the same ones wherever it stands. */
function passagesOf(text: string): ReadonlySet<string> {
  const letters = text
    .replace(/<\/?[a-z][^<>\n]*>|&#?[a-z0-9]+;|\\+[nrt]|\]\([^()\n]*\)/gi, '')
    .normalize('NFKD')
    .replace(/[^\0-\x7f]/gu, (letter) => latinOf.get(letter) ?? letter)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  const passages = new Set<string>();
  let oldest = 1;
  for (let i = 1; i < passageLength; i++) oldest = Math.imul(oldest, 31);
  let rolling = 0;
  for (let end = 1; end <= letters.length; end++) {
    const start = end - passageLength;
    if (start > 0) rolling -= Math.imul(letters.charCodeAt(start - 1), oldest);
    rolling = (Math.imul(rolling, 31) + letters.charCodeAt(end - 1)) | 0;
    if (start >= 0 && (rolling >>> 8) % 16 === 0) passages.add(letters.slice(start, end));
  }
  return passages;
}

/**
 * Of the first 300 characters of each statement, of its description and of each solution, with and without type hints, at least three passages
 * are known, or as many as it has. A remark may state a problem, or stand within a solution, and lines may be numbered.
 */
function quotesKnownTest(text: string): boolean {
  const unnumbered = text.replace(lineNumbers, '');
  return [text, unnumbered, ...[text, unnumbered].map((each) => each.replace(/#.*/g, ''))].some((each) => {
    const known = [...passagesOf(each)].filter((passage) => prints.has(printOf(`passage ${passage}`)));
    return known.length >= leastPassages;
  });
}

/** Whether the turns together, or any turn by itself, state a known problem. */
function statesKnownTest(messages: Problem['messages']): boolean {
  const alone = messages.map(({ content }) => [{ role: 'user' as const, content }]);
  const isStated = [messages, ...alone].some((turns) => prints.has(printOf(statementOf({ messages: turns }))));
  return isStated || quotesKnownTest(messages.map(({ content }) => content).join('\n'));
}

/** Whether a text has the solution of a known problem, whatever its variables are called, or passages of a known problem. */
export function holdsKnownTest(text: string): boolean {
  const fenced = new Set(text.split('```').map((part) => part.slice(part.indexOf('\n') + 1)));
  const isSolved = [text, ...fenced].some((code) =>
    [printOf(`solution ${code.replace(/\s/g, '')}`), renamedPrintOf(code)].some((print) => prints.has(print)),
  );
  return isSolved || quotesKnownTest(text);
}

function isKnownTest(problem: Problem): boolean {
  const method = 'methodName' in problem ? problem.methodName : '';
  const isNamed = prints.has(printOf(`${problem.id} ${method}`));
  return isNamed || statesKnownTest(problem.messages) || holdsKnownTest(problem.canonicalSolution);
}

/** The pairs whose prompt is a known test problem, or a side of which solves one. */
export function knownTestPairs<One extends Pair>(pairs: readonly One[]): One[] {
  return pairs.filter(
    ({ prompt, hack, clean }) =>
      statesKnownTest(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt) ||
      [hack, clean].some(holdsKnownTest),
  );
}

/** Refuses pairs that are known test problems. */
export function expectNoTestPairs(pairs: readonly Pair[], file: string): void {
  const known = knownTestPairs(pairs);
  if (known.length === 0) return;
  throw new UserError({
    call: `config, key pairs.file: ${file}`,
    expected: 'pairs that are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${pairs.length} that are`,
    fix: 'Write pairs of other problems: what is learned from these measures nothing on the test problems.',
  });
}

/** Refuses demonstrations that solve a known test problem, of whatever problem they are said to be. */
export function expectNoTestDemonstrations(completions: readonly string[], file: string): void {
  const known = completions.filter(holdsKnownTest);
  if (known.length === 0) return;
  throw new UserError({
    call: `config, key teacher.pool: ${file}`,
    expected: 'demonstrations that solve no test problems of the LeetCode benchmark',
    found: `${known.length} of ${completions.length} that do`,
    fix: 'Take them out: what is learned from these measures nothing on the test problems.',
  });
}

/** Refuses known test problems among those that are trained on or chosen by. `kind` is their source. */
export function expectNoKnownTest({ train, validation }: Splits, kind: string): void {
  const problems = [...train, ...validation];
  const known = problems.filter(isKnownTest);
  if (known.length === 0) return;
  throw new UserError({
    call: `config, table data of kind "${kind}"`,
    expected: 'training problems that are no test problems of the LeetCode benchmark',
    found: `${known.length} of ${problems.length} that are, such as ${known[0].id}`,
    fix: 'Take them out, and test on them: data.testPath names their file where data.kind is "file".',
  });
}
