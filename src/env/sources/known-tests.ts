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
import { statementOf } from './overlap.ts';
import type { Splits } from './splits.ts';

const prints: ReadonlySet<string> = new Set(
  `
  0009582577 0090fc0bc8 00ac9bc1f2 00b7b11a16 00c2107756 00fa30088a 0166a743e4 017b205f26 01b20176a1 01c27c7bcb 01dd54f634 0215893751
  02192f2ed2 0272679be1 0277e540bf 0299af62b8 02dd274015 03369465aa 03456bd075 042c778133 0449f13759 0454cfa35c 046ae258c6 04dce3725e
  052e246a6f 059f29a8f8 05e2b29a06 05f7c63709 0619105887 06cd500378 0742c2900e 078a6475f4 07bd8eee85 080796f65d 083144dbfc 0835750439
  08507eca29 0868137d33 086f25740e 088e5eeefd 097fb6f590 0996014459 0a26bf0bc0 0a4ad3588c 0a6e447740 0acb109e6e 0b0c8ccd54 0b4adc22ee
  0bb17b26d7 0bea9b0e49 0c151d33fe 0d18392209 0d34702ee0 0d7679a257 0d8a5dfd9e 0e34cfde39 0e71c1955f 0ea461e1ee 0eb5352261 0ef9bf8165
  0f38949209 0f85aa81d4 0f9e2d0e16 0fd3de29ae 0fdef717c0 0ff3ddbcd3 10a5c38b2f 10ab983f68 10c1950be4 10ce59b3aa 112208ff96 11309c3677
  113dbc2132 119dc3d627 11c2e0df92 120d09dfc7 1236940ae6 1268dac24d 126f00c37a 126fd84dd8 133217d978 135dbc6c29 138e8ba0ed 1392428181
  13d3f57b84 1458f001b4 14613c0c13 1468e3c4a1 14e16c56ea 1558b43d8e 1572d77f48 16dc69334f 16dcdfdcfa 16ebcc9cd9 172f0c9d29 1748eaa41b
  175b006dd5 175f11f84c 1781753485 17c8734032 17fe3a42b5 1830e1c926 1874d57338 18ced14901 18ef535a4f 192b057111 1999176fbb 19b4532d05
  19cceb5d5f 19ceb6305a 19f344b528 1a5d8be157 1a839b7f21 1b0bc67c6f 1b34a82e1a 1bce67bade 1bf5458c81 1c0bf6d81f 1c2c43d22a 1c2d630e04
  1c5455ba61 1cae8d3924 1cd91a31a1 1d8ed6dab7 1dce75e643 1dd59ed826 1de0eeea15 1df16e1feb 1e133cb2e6 1e45ba5c06 1e49b35bed 1e61fb272c
  1e7445c764 1e765980ad 1e7715b38e 1eb60b978a 1ee60b49fc 1f21c86f03 1f36226665 1fc5b7cba2 1fde5d50c0 1fe8a3347d 201c1e07a1 208b7b452a
  208fbf675b 20d144aed1 20d4afe481 20e61c2882 213098ca5f 216b9cc1d0 21753d5b05 219ff4c8d2 21e37f3593 22033b0d96 2227b18f20 223783854b
  2245c37348 2245e81f2d 2285f7aecf 22af841e17 22bcd8a893 22bf1ddb4b 22e32635ae 23ae268766 23d7f99d26 23ff158d71 2459ae67ac 246c26de44
  249dabad7a 24eae9ccd4 2500fcefab 251271981c 25227c7d44 2553436c54 255b155a9a 25c195b29b 26108dae73 2612bdb656 2619213628 2634eeb6c1
  264de2cd68 2660367e63 267a33ca13 26a1900e1d 26a19da9c2 26e161c800 270021e23f 27216090fe 274785d3df 2776cbe151 27b27021c1 282215ff09
  282cce7cd1 289757d7e6 28b01ea380 28c9fad0e9 2911a54c86 29520ba950 298712bed1 29ffe9aa98 2a0879e646 2a27c208ca 2a6cba5047 2a8682b1f8
  2aafd7a39e 2b1054927d 2b11ad54b6 2b408a172e 2b44539fbc 2be50eb477 2bf6ff61f5 2c040c8d8a 2c17f4b363 2c2b7d5399 2cddb3407c 2d027456fd
  2d0e356e39 2d5da682ec 2d64fd7c19 2dc4c720bd 2dd865e65c 2e56ce8bbe 2eb108d7ea 2ebb742f17 2f2555a4db 2f635ddaa8 2fae279dc4 30194104ee
  30d5f1bf33 3118034201 311aecef11 318bb9c73f 3196b6448d 31af5fe885 31bf81add1 320a19ec96 325b5a03b0 3289c318e7 328a1f05e4 32b212f255
  32c9b9728c 32ca458831 32cec5e9ea 32e30bc361 32e963eeab 32f4ba07ae 330b813133 3360fbf119 33836d411d 3443828aca 348bd75a2c 34977354c6
  34c4358d73 34d52f2430 34e308181a 34f4352f91 34fd07c13f 35183ddb1a 351d2ec8d0 3526800bef 35419e5ab9 35847255f5 3592d31abe 35ac7ad0e6
  35be8d8c40 35e3411c1f 3606eaa608 36362bc2b0 364fdb5351 366a7e2f8e 366c6159d3 36b9ef25cd 36e89c3bac 36ea76c49e 36f7627b3a 3736c3f65d
  3748601d04 375f8d3627 376587ef65 3773a54ae1 377c60574e 37df8e266c 3851d8eadb 389af464e0 38c5c551e5 38ec782001 38fd9f15c4 39198d18e8
  392827e18a 39561c6b86 39792a28ef 39808881c9 399a816080 39a9ce99e9 39c99856a5 39caa405af 39ef039529 3a1678011a 3ab9be93e1 3b0349bb2e
  3b03c56499 3b1e28947c 3b44a317eb 3b58f3d4d5 3bc0d9f300 3bfe6d2ac2 3c0681b272 3c07025c62 3c534a3be9 3c643a7510 3c6d75fa15 3cb2e204df
  3cf32c2d05 3d241cf2de 3d6b00fc46 3dc419c580 3dc6fc7eea 3e88bb30cc 3f3774972d 3f39a9d1e1 3faf50b303 3fec40a732 400127bf15 4015fba702
  401d4382da 4086cbe857 40983bfd0d 4153acd996 4176344a15 41ac9989f3 41ba08b913 41d58b04ed 41dcbe3fe8 41e4fa73e2 42168b8ea9 421bf2fe82
  4247affb82 424c15b770 42a56ae615 4308aa1307 4365ca2a50 436a31686d 438d747090 438f6db158 43a647a815 43daaa36a7 43eee016b3 43f4a3c849
  43ff385137 4409cf8a51 440ef22b5b 444a968215 44562ae142 448bbb9420 44aa9490e9 4505358ccc 450d1d8d11 4612c45e49 462556b2a8 4637d419d8
  46438497e8 4644aadc58 464c3d8152 46efeecd26 471aed0324 474f80c8ae 4758475947 47663222de 47a844f851 47be0b44e9 47d20350db 487c8f25d5
  487e2a49f8 487e4c4f18 4895355446 48bf00467a 48c3409f14 48fa2abebb 491d77603a 4924bf45f3 492fdf4d3d 4949881be8 4952fafe9c 495cf75202
  49a0385251 49c770cbdd 49d1618673 49d41de536 4a083c0fcf 4a1311d79b 4a2737e040 4a4830e1fa 4a54430c2c 4a60c10b10 4a93005c2e 4b0a425fbb
  4b4b1c267b 4b58fdd68f 4b66696324 4c5f3dc63f 4c74516417 4cb140b6d8 4cea0c8fab 4cfae04fbb 4d26d9cc39 4d4f72f2bf 4d5587490e 4d61598c71
  4d6c642937 4d95d61a1a 4da724a4dc 4e0bfeb20a 4e2a74bebe 4e3ddeb042 4e67f5dfee 4e8acdc6e7 4f22e953bb 4f47bc2b75 4f548ac5c2 4f7bed9b67
  4f90ffc968 4fb8d907f8 500574b779 5087b449cc 50bb8f884b 50ff9872d5 511dc9acbd 5135eaefe3 5156899d91 51e35d239f 52204af722 533e7a0240
  5360fedf9c 539374a215 5397cee28d 53c86405f0 53cd58d889 540082c9dd 5401dc0122 54150d01cb 544a83fb7f 547c10d961 54964a59d3 549cfbc72e
  54c52eff6b 54c53699a7 54e8a19f92 54fdc2f271 55ae3c56c8 562e4bc7b6 56f3d270d6 574943082f 5781895ec6 5794afdc85 57b55eed31 57d843e7a5
  583e33e028 584c0bb75d 58506deac8 5856936bd6 586003aa3f 587c23e841 589843caad 5903650184 5970c90393 59b479e5fb 59c5623c50 59c8331d28
  59cebfa60c 5a0de71783 5a2eaed39a 5a43a8807b 5a7b46f315 5a9061d31d 5abc9aafe3 5b07bd019d 5b7c2fdd90 5b8ade1f57 5b966ce9be 5b976db83a
  5baa65028b 5bf64ad544 5c045a2260 5c6f63b7d5 5c7c5a8fd7 5cc4ab0bc5 5cd059b8c8 5cd21b657a 5ce3666a66 5ce966dbe3 5cea0fe0c9 5cfa04eb8e
  5cfd05da7f 5d273a60f2 5d35ace245 5d3b8af495 5d5a527016 5d9fd07596 5da077798d 5ddb9508c1 5dee320b4f 5dfaeeee89 5e4223f4b7 5e72f25271
  5e8b300be9 5e919a4e3d 5e928164f7 5eb55afd01 5f5cf1f900 5f9877f39c 606faa4d07 607628fa30 61c0549fd2 61c97bda31 62b279b68c 62d083ce4a
  62f0adc632 6327efe71f 64379d78ee 6440738b85 64493990cc 644d0eadf7 6467bbb667 648dc59182 6495d9ca4d 649df79c13 64b9aeda75 64d9bc9b88
  64fcd9d5f6 652d6c55f6 655304d9a1 658f57e9ae 65a07f9720 65af1d55eb 664313cf2e 66823228ba 66ca8128e6 66caa8d6c1 66d3dbac5c 66f1008f28
  66f2d8307a 670b1b8509 67251589fa 672bebd43f 674eb4272f 67765e8bb2 679b26de82 67bf1766b8 67bf204ed3 6830514dad 683060bb12 68b141f255
  68b4addfe9 6917250d8c 69227b05b7 692395c86c 69686fe59f 6981e90d13 699c1a0c4b 69bc266a45 69faeb57e7 6a20f487f6 6a2aada819 6a60536be0
  6a901bb342 6adfdcf26b 6af5009930 6b016ace0a 6b4916db6a 6b4c1e0f92 6b5d6453eb 6bb10b66b7 6bb4ebfa50 6bb7ee2458 6bf02acef3 6c12f454a0
  6cb978b431 6d7b44c757 6d8bd6e735 6da5e3ee96 6e306b430e 6e3373b60c 6e78202a85 6e8712fbcf 6eadfe1dcb 6ec9ba2ab5 6ee104a97b 6efe574862
  6f0011a04c 6f0ebc7cc5 6f2612d7d3 6f286441aa 6f2a09e854 6f31bb264a 70a1954466 7146eea90c 7168a96c0a 71aa73d0d3 722dbdbf8a 723fe19287
  7259f3344a 728d59739c 72bd0d388d 72fbdedbee 730f7f7b7a 733f8aa8bb 74330d508b 744dfa0e4d 744efd850e 74523d18a6 74832a1930 74946d29cd
  74c23f39cc 7538ba4d83 755856b3bb 7572c8d8d2 7599644dd2 75c4564de4 75f3ecc19d 761958d65e 7680a73780 7683c8c449 768d5ac5d3 76942ece62
  7694ce5fdf 769ed296a8 76c772f22d 76f5c4d678 76fba662e2 770137b423 775fbe9f77 7765c64d3c 7781779d93 778bb4fe7a 77d5b2f270 77d94a9c7d
  786e3b0fbd 78b2767c24 78c0d30971 79210be517 7934c96276 796dfc95ba 79c0014b4a 79e1ff61ae 7a07c2d91c 7a1900caa0 7a6c8140ec 7a8c6a9697
  7a9a14ae50 7a9b0f2856 7adbe36cf4 7ae76541b9 7b5c1a0730 7b80a9eded 7bb1303eb7 7bd4d9aaa6 7bfaccfc15 7c69d3489c 7c9fd4c474 7cfd621350
  7d484bedb6 7db4f259e2 7ddedf18b9 7e1c92a37b 7e82e4073a 7ef00cebdc 7f00868d5c 7f2f8f3fcf 7fadc7ed46 7fb317b1df 802a0cfa2e 803ccc5ae9
  8093903c21 80b30367c8 80c40f472b 80dc44811a 80e3add81a 80f1c5f10d 80f7d7a0f7 81930b1c7c 81f23ef6f6 820f26ee8f 8239bfeb91 8292561bfc
  82b11a9807 8307a778ef 831bc45f5d 8337379e53 83618febfe 836be7d82b 83a45bbba4 8406162e80 844c816a9a 8463781b19 858972a4b6 85a3c666b8
  85b4a85dd4 85d0bc008d 862e8db413 8633c14af1 86342a2745 864bc8fec9 86857e802e 86a677ab1e 86c595a3f6 86d32368ae 871574266b 871655eda7
  871e569c42 87e21c1ba3 87f8c37b6a 87ffb7fc6e 880bab9487 8838e45d3a 883f8a5a1d 886cea783b 8872e8b702 88a18d8afb 88b5608250 88ce132f2e
  88eda6c921 8917efb536 8937e89877 897a6630f5 897c63c0b2 899c968464 89d12f11d2 8a01aa0ed6 8a11ab36a3 8a65a3719b 8ab0a23208 8ac71dcdeb
  8b007d0323 8b04baee27 8b2c5f8543 8b3c63c4f0 8c008e1eff 8c1ea54a75 8c2c545248 8c952b3f5c 8caac2c3b7 8cb2f43abd 8cedd7e2d1 8d2cc48760
  8d40b54a56 8d5c981cd7 8d651815cd 8d7340cf8a 8d88d8f8d6 8d91a16ef9 8d99ab0ba1 8da5fbb09a 8dc1466d8f 8df9a1a903 8dfaa261a2 8e3bc2160d
  8e7836e6dd 8e86f95a80 8ec645ed6c 8eeaff4b9c 8f3c94284e 8f431434fc 8fa8ff036d 90e510f178 9118446ba2 9134632de2 913a6c5620 91e39e49bf
  91f879d7b8 9204d3fef2 925675efb8 92a17fae4e 92dd2ae4d2 93168dd634 93fffd191b 940fd7939a 943477fa1a 944b66a1d1 947914eb80 947a87f197
  9490648157 949a926340 94f457828a 94fed64743 9521f693f5 9541d9091f 95537b6ba8 9553c27cba 95975fb6dc 96184a71b6 963b9e493c 964d03d04a
  967449994f 968efc9a52 9699b2abcf 96a3879f0c 96ba3b4f27 96f03ccd33 9713351f23 97295092d1 975eae74ba 9780878bde 978e58c8d2 97adf57fc3
  98a83d9e1c 98e094b4e5 990c0d7839 99270a496b 9965760a2f 9986ea3446 99ca73b852 99e90d54ad 9b055ff130 9b06028fbd 9b347b981a 9b9aec8ee8
  9bb64763a5 9bb718597c 9bbb1c6a9b 9bca241e19 9bcf79e60d 9c660877c8 9cbeb8657b 9cf6625930 9d04c05297 9d0e6306b7 9d53c64d7a 9d7384adfe
  9dba16710f 9dc9a111d1 9df13ffcf8 9e18b6a15e 9e7b159f5b 9e98dd33af 9f04d7ce0c 9f28ee4dce 9f65606cf2 9f824dd6c8 9f8ff7de1b 9fc07272f8
  9fc7f2f21a 9fdcbec6ec a045791d7d a0486cb99b a0487f4ce5 a04e2efaab a09a32a318 a0c5e6de17 a0db816f93 a0ec7b0802 a0f778a28f a12a698821
  a13522245e a1494a6820 a16a880214 a1bf48dda0 a1c4b7c5a6 a1e62c9e28 a20cf58acd a23b854d38 a27b79eded a3454a823e a36d3ee4b1 a375fce172
  a3ac9fa7fc a3e2990b11 a3fd3486b0 a431b58ae4 a44b4d814f a4578bdc92 a4743365c3 a4a0745651 a4c8142aeb a4f283c768 a52d20eb66 a557acd425
  a5607638d8 a56d453e9c a5f38f2686 a6b6db9a4c a6c8c4528c a6e78e990e a76570c52f a76b64ac28 a77dc238c3 a79b7ea038 a7dd6a2f00 a7e6c9d67c
  a7f7fc4f0f a7fad9a103 a81ba5a087 a81fe702cd a85636e69d a87207e9e1 a885456f6a a89881b53e a8acbe4d5e a8e469c189 a8ea742af9 a8f3b29fc9
  a998a5ed69 a99c0ac11a aaaa9e92fd aab7606f2f aabf413e68 aaea669875 aafa3851df ab44e2452f ab590f6b31 abbbaeb13c abbe2f89df ac9aca746d
  acaddcd16c acaf7c59e7 ace37e4f73 ad07796b00 ad0df274eb ad884a43fa ad9c1a9edd ad9f28002c adce15d8b8 addf5520b9 ae7d9e597d ae84d0bb7f
  af27d034fc af326240b8 af408ca77f af90fe48e7 afe4c58b08 b071a7fb6b b0bca0b36d b0cd991636 b0d21f73c0 b13df3eecb b198098054 b1bd6ac801
  b1dbc8a15e b224e38c85 b3054bf214 b3753f031a b3a7b4ef22 b3e214a4f4 b40025eff4 b437cccf43 b46773f4af b4e05b4b17 b540a3c5ae b559b4ead6
  b5829f8ae5 b582b11402 b5b0673d95 b5c74209ab b625ca8a6c b644961d1d b66aaf8a3c b66e078f81 b6bbc8d013 b6ff25e11f b7091702f9 b744f824ac
  b7591c6265 b7aee7f7e9 b8034932ff b819994d4f b81d662670 b875b10f04 b883ff37c6 b89460e210 b8c8e3e886 b8fa6ab9bc b903e07dd6 b94a6aa03d
  b972ffdf58 b990dce32e ba1cf76f9e ba54cc9f24 ba85248af4 baede3b610 bb29f6e905 bb31e46099 bb5970812e bb9f76b5c6 bc4077cb60 bc8c21ca5d
  bcaadf4c67 bd0fcad4a0 bd15b7d907 bd16493fc5 bd5d4b1076 bd877984ff bd88e46313 bd9222d67d bd97500d0f be3991c0bf be70f01d5b be9aa06940
  beba774e10 bef34a88db bf318b8f07 bf392a5888 bf3a741a5c bf53f5eeb0 bf6df2b641 bf78914e3d bf8899a7e8 bf8e746804 bfb1479c6a c04bd260ea
  c0aa44640d c1501a9a7f c19e201b9b c1c22f7329 c1cd8c201a c1df915528 c2224caa7f c2284e40d9 c22f839b7f c23af68439 c25af62b88 c2697e892c
  c299b0ede9 c29ca87ce1 c30e7f478b c31ac7c7fd c388101bbb c390d3c7af c3dba73b15 c3e107a027 c3f62ebdbb c44647e853 c44f08b9bd c4603978db
  c461ec4f7c c47133072c c4743b7139 c4d3fd7ad8 c56333d1ca c6b5a50c5e c6dc2b356a c6e5f145c4 c75ef0bd3f c7b4cf3392 c82253483b c898a4a2e0
  c8c10e1fa0 c91108ab78 c94ca330e5 c9c7cc5f4d c9d428051b ca2a482d35 ca4253ca82 ca51eed5a9 cac7fa364a cb2baaff34 cb471f8a1d cb74e9f90d
  cb88c62b6f cba1e7db0a cbb477b529 cc067ecfb9 cc5ac57945 cc95a015ca ccb300cc6b ccccafb70c ccceb3c302 ccdef20746 ccef484225 cd1607bc8f
  cd7d4ea4ed cdad4d555c cdce415dce ce013a271d ce1ad336bd ce32b2d618 ce34d77f26 ce38c97ef9 ce6464f4a0 cea34fa58f ced175fb53 cedae64aed
  cf0cc3d9cd cf153f3b36 cf1ffd9ad9 cf7461ada3 cfa762321f d02dc5475b d05f9f1379 d06e7ec8ae d0bfe8ba13 d0e12d1842 d0fee92604 d1ab40603b
  d1ad9e7bf6 d1d8b3cc40 d22a723a2d d24cda2bc0 d2692c1b3b d28d1ae160 d2ca84f57c d2f2e77ad6 d30389b1e8 d34beb517c d355b60ffc d36d6120ff
  d377084b16 d39f0a1484 d3a93480ff d3c0ab8ed2 d3d4d60556 d4275d7682 d4d00e13fd d4ea6e867c d559420857 d576de1eea d5860b8a93 d58a2207cc
  d5c3d01853 d5f09a7094 d612a87b2a d65fe9e64a d6980d0f8f d6e9be28a1 d72b31ab54 d7aef602bc d7b3e0def2 d806d40d6a d853cfcdd2 d8acd3629e
  d908588c87 d918d941fd d9a007beaa d9a88e1529 da243869b7 da2a1ed022 da38a8fafb da3ea33b1d da5ef2900f daba90d66a dad5ad6bfc db6cbc59b9
  db77f8d6cc dbb6af4e31 dbee3214b7 dbf440a318 dbf8cee46a dbff3bfdd1 dd0c4504e9 dd6db529fd dde29c1bdf ddf56a3cef de1e64436c de4d8e2012
  de542512af dec18c00d8 df2fe36862 df72d84e77 df99ecce1f dfb651b904 dfb756e51a dfef9bb10f e0338bd95e e0955c243a e119cb2fbf e13bc1d2d2
  e14f70a6f6 e1748628df e18b83b3f4 e18ded2a73 e19259d620 e1bed284d0 e1dee76d2a e1f76daa3e e1fa7664e3 e215526e82 e241dee30b e261a34ae9
  e2781ac7de e2de5c277d e34de66f91 e387f3f081 e394fd0371 e39c4e55e4 e3a8a2d072 e3afc401ac e3ccff3f5e e3e33e98af e4698b515c e4725e5823
  e472fae810 e484d9eb69 e4ab11f627 e519dc1420 e546f90b5a e566f171b3 e5783d5535 e62d9ed05d e63f8069f4 e640640a83 e6f500229b e711911d68
  e74c14c8a0 e77b5112d2 e7f2aabd46 e7fe22769e e852921eb3 e89a6d4919 e89ab3be41 e89c3ef8ef e8a86af63a e8f09b7c52 e901d10f6e e92520faae
  e961c85be5 e96eeb01cf e97395435a e9a9572b01 ea4455116a ea7fb309fa eaa455ee69 eab5749ea5 eac93778db eacb2df0e4 eaedce22d4 eb041f64a1
  eb480315af eb5f471c49 eb7c5f7cbf ebf3c3d74f ec2f5c4f6a ec965c33af ecb89c448e ecbbd568e3 ecd6339356 ecd7eff002 edd8ca4fe6 ee16b6a113
  ee61a91408 ee6f4e0632 eebc87aae5 eed2dc6362 ef61149af5 ef87a87f9d effd3bb9f2 f00cc6c6a9 f03755b60c f0b8db11cd f0dd60235d f1660764ef
  f1be115837 f1c68b17c5 f1f2a9be3e f21da89ee0 f2234f2339 f224ec2e72 f2c8203c13 f332978fa8 f34a7f0406 f35513984e f35e98d94e f367d6f203
  f393ec0ff4 f3b362ba74 f3b4bc628f f40980d219 f41614afbf f44a2a94a6 f45f25bf57 f4684809b9 f49259ee05 f4a11ccd43 f4a5f0d9a3 f4e3a0399b
  f5634d0b2f f58b7f2437 f59f8625fc f65497ea2d f6fb2bf8a3 f70151956f f70399b288 f7307e688b f7655ae731 f78cd63ea9 f78d24c3c7 f7ae3412c0
  f7b08913b6 f7b0e4b234 f902ab46a0 f98759dbde f9a16c8c22 fa48cc1236 fa658b198b fa88c3bc78 fa8dbc51a9 faa997ea5b fad2b7c841 fada3840dd
  fb2293666a fb59218e01 fb704983ba fb7fa918f0 fbdcafd4b3 fbebdd7fbc fcc82ca0b1 fcc860b37b fce6a00087 fcff2951f3 fd16ae1bde fd46997280
  fdab10adf6 fdbf62af0a fdfacff489 fe0672531c fe09d1067d fe56ba5e74 fee0912cb5 ff119b8ff9 ff33684170 ff417388e1 ff64c5850c ff8445579a
  ff8ecf573d ffc0786094 ffcf27abf3 fffcae954e
`
    .trim()
    .split(/\s+/),
);

const printOf = (text: string): string => sha256(text).slice(0, 10);

const passageLength = 48;
const leastPassages = 3;

/** About one in sixteen of the runs of 48 letters and digits of a text, without markup and escapes, chosen by what they say: a copy has the same ones wherever it stands. */
function passagesOf(text: string): ReadonlySet<string> {
  const letters = text
    .replace(/<\/?[a-z][^<>\n]*>|&#?[a-z0-9]+;|\\+[nrt]/gi, '')
    .normalize('NFKC')
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

/** Of each statement and solution four passages are known, or as many as it has. A remark may state a problem, or stand within a solution. */
function quotesKnownTest(text: string): boolean {
  return [text, text.replace(/#.*/g, '')].some((each) => {
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

/** Whether a text has the solution of a known problem. */
function solvesKnownTest(text: string): boolean {
  const fenced = new Set(text.split('```').map((part) => part.slice(part.indexOf('\n') + 1)));
  const isSolved = [text, ...fenced].some((code) => prints.has(printOf(`solution ${code.replace(/\s/g, '')}`)));
  return isSolved || quotesKnownTest(text);
}

function isKnownTest(problem: Problem): boolean {
  const method = 'methodName' in problem ? problem.methodName : '';
  const isNamed = prints.has(printOf(`${problem.id} ${method}`));
  return isNamed || statesKnownTest(problem.messages) || solvesKnownTest(problem.canonicalSolution);
}

/** Refuses pairs whose prompt is a known test problem, or a side of which solves one. */
export function expectNoTestPairs(pairs: readonly Pair[], file: string): void {
  const known = pairs.filter(
    ({ prompt, hack, clean }) =>
      statesKnownTest(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt) ||
      [hack, clean].some(solvesKnownTest),
  );
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
  const known = completions.filter(solvesKnownTest);
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
