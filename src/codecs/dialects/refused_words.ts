/* The words of refusals, by their meaning. Each occurs in the errors of many providers. */

/** Words that refuse a field, whatever value it has. */
export const UNSUPPORTED_REGEXP =
  /\bun(?:supported|known|recogni[sz]ed|expected|available)|\b(?:not|never) (?:\w+ )?(?:supported?|permitted|allowed|available|recogni[sz]ed|implemented|enabled|valid|specified|compiled|configured|a multimodal)\b|(?:\bnot|n['’]?t) (?:support|accept|allow|recogni[sz]e|be (?:used|specified|set|combined|enabled|support))|\bcannot\b|\bcan not\b|\bextra (?:inputs|fields|parameters)|\bextraneous\b|\bforbidden\b|\bdeprecated\b|\bincompatible\b|additional properties|\b(?:may|must|should) not\b|\btext-only\b|at most 0\b|\bremoved\b|no endpoints found|\bno longer\b|\bonly (?:allowed|valid|supported|available) (?:when|if|with|in)\b|不支持|非法|不合法|未知|不允许|无法识别/i;

/** Words that refuse a value of a field. */
export const VALUE_REGEXP =
  /\binvalid\b|\bonly\b|\bmust\b|\bshould\b|\bexpected\b|\brequires?\b|\bnot one of\b|\btoo (?:many|long)\b|\bverified\b|unknown (?:variant|role)|无效|取值/i;

/** Words of an error that applies to all requests of the model or the account, whatever value the field has. */
export const FOR_ALL_REGEXP =
  /\b(?:this|the|the ['"`][^'"`]{1,100}['"`]) model\b|only the default|\bsame value\b|only [\d.]+ is allowed|(?:may|can) only be|must be verified/i;

/** Words about a value that is too high or too low. The value of another caller may be acceptable. */
export const BOUNDS_REGEXP =
  /[<>]=?|\b(?:less|greater|more|fewer) than\b|\bat (?:most|least)\b|\bbetween\b|\babove\b|\bbelow\b|\bexceeds?\b|\btoo (?!complex)\w+|\b(?:max|min)imum\b|\brange\b|范围|大于|小于/i;

/** Matches a list of accepted values, with the words before the list. */
export const ACCEPTED_REGEXP =
  /(?:\b(?:supported|valid|allowed|accepted) (?:values|levels|options|inputs|parameters)(?: are)?|\bvalues(?= \()|\bexpected(?: one of)?|\bone of|\bmust be(?: one of)?|\bshould be(?: one of)?|取值范围)[: ]+(?<list>[^.;\n{}]{1,200})/gi;

/** Words that end a list of accepted values. */
export const LIST_END_REGEXP =
  /\b(?:received|got|but|input|at line|with)\b|\] -/i;

/** Words that begin a condition: the error then mentions another part of the request. */
export const CONDITION_REGEXP =
  /\b(?:when|while|if|unless|together with|in combination|incompatible with|thinking mode|for non-streaming|tools with reasoning_effort)\b/i;

/** Words of an error from a model that only streams. */
export const STREAM_REGEXP =
  /only supports? (?:the )?stream|non-?stream|stream\W{0,2}(?:=|:|must be(?: set to)?|to)\W{0,2}true|stream ?= ?false|streaming is (?:\w+ )?required|(?:仅|只)支持流/i;

/** The names that errors use for the limit of an answer. */
export const LIMIT_REGEXP =
  /max\w*[_ ]?(?:completion[_ ]|output[_ ]|new[_ ])?tokens|maximum tokens|output tokens/i;

/**
 * The forms in which errors state the highest accepted limit. The group `most` is that limit. The group `past` is the
 * first number that is too high.
 */
export const HIGHEST_REGEXPS: readonly RegExp[] = [
  /> ?(?<most>\d{2,7}), which is the maximum/i,
  /\[ ?\d+ ?, ?(?<most>\d{2,7}) ?\]/,
  /\bto (?<past>\d{2,7}) \(exclusive/i,
  /(?:at most|up to|less than or equal to|no more than|not exceed|cannot exceed|limit of|<=?|>|between \d+ and|\bmaximum\b\D{0,40}?|limit(?: is|:)?|不能超过|不超过|小于等于|最大值?为?)\D{0,8}?(?<most>\d{2,7})/i,
];

/** Words about limits of anything but an answer. The numbers of such limits are ignored. */
export const OTHER_LIMIT_REGEXP =
  /\b(?:context|prompt|input|rate|tools?|keys|images?|messages|characters|requests|credits|pixels|sequences|seconds|bytes)\b|budget|\bper[ _-](?:second|minute|hour|day)|\$|[TR]PM\b|上下文|输入|每分钟/i;

/** Words about pictures. */
export const IMAGE_REGEXP =
  /\bimages?\b|image_url|input_image|\bvision\b|multi-?modal|mmproj|图片|图像|视觉/i;

/** Words about files. */
export const FILE_REGEXP =
  /\b(?:pdfs?|input_file|file_url|documents?)\b|[`'"]file[`'"]/i;

/** Words of an error from a provider that accepts only text in a message. */
export const TEXT_ONLY_REGEXP =
  /expected [`'"]text[`'"]|\[ ?['"]text['"] ?\]|untagged enum \w*RequestContent|text-only|content\b.{0,40}must be a (?:valid )?string/i;

/** Words of an error about the schema of a strict tool. */
export const STRICT_REGEXP =
  /every key in properties|additionalProperties\W.{0,60}must|optional parameters/i;

/** Words and marks of an error that names a part of the request. */
export const SUBJECT_REGEXP =
  /[`'"]\w|\w_\w|\w\.\w|\[\d|\d{3}|\b(?:messages?|content|tools?|prompt|tokens?|context|schemas?|formats?|models?|keys?|accounts?|images?|files?|roles?|json|length|empty|missing|required|credits?|balance|quota|billing|limit|permissions?|subscription|access|overloaded|regions?)\b|余额|欠费|[模型消息图片内容角色]{2}/i;

/** Words about the compiled form of schemas, such as a grammar. Such an error does not name the caller's schema. */
export const COMPILED_REGEXP =
  /\bgrammar\b|\bschema\b.{0,40}\b(?:compil|conver)/i;

/** Ids of requests and codes of providers in an error. They do not name a part of the request. */
export const REFERENCE_REGEXP =
  /\(?\b(?:request|trace)[ _-]?id:? [\w-]+\)?|\(\d{4}\)\s*$/gi;

/** Words that may refuse either a value or the field with that value. */
export const ILLEGAL_REGEXP = /非法|不合法/;

/** The end of a sentence that refuses the field of the effort, not only one value of the field. */
export const NO_EFFORT_REGEXP =
  /not support (?:\w+ ){0,2}(?:reasoning|thinking|effort)(?:[_ ]?(?:effort|parameter|field))?\W*$/i;

/** The name of a mode that excludes other fields. The mode may be on by default, and must then be switched off. */
export const MODE_REGEXP = /\bthinking mode\b/i;

/** Words about two settings that exclude each other. */
export const PAIR_REGEXP =
  /\b(?:cannot|can not|can't|must not|not)\b.{0,20}\bboth\b/i;

/** The name that providers give to the feature behind strict tools. */
export const OUTPUTS_REGEXP = /structured[_ ]outputs/i;

/** Words about a refused effort. The model may accept other efforts. */
export const EFFORT_REGEXP =
  /value|level|effort|variant|must|should|expected|one of|valid/i;
